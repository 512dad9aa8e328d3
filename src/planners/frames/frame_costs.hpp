#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "planners/frames/frame.hpp"
#include "planners/frames/frame_tables.hpp"
#include "planners/frames/shape.hpp"
#include "planners/meshes/stage_mesh.hpp"

namespace pptrain {

/// What stages that are alike cost, by intervals of layers.
struct StageKind {
  /// Seconds of a collective of so many bytes: what it takes alone, or what the uplinks that it
  /// shares need for it and the others.
  struct Collective {
    double per_byte = 0.0;
    double latency = 0.0;
    double shared_per_byte = 0.0;
    /// Seconds of the collective over `bytes` of one member; 0 for none.
    double seconds(double bytes) const {
      return bytes > 0.0 ? std::max(per_byte * bytes + latency, shared_per_byte * bytes) : 0.0;
    }
  };
  /// Replicas that hold equally many samples on devices of equal memory.
  struct Holder {
    double samples = 0.0;
    double memory = 0.0;  ///< bytes of the smallest device
    int replicas = 0;
  };
  /// By what is computed again, a `Recompute`: of the slowest replica, and of the fastest one in
  /// each layer.
  std::array<const PassSums*, 3> times = {};
  std::array<const PassSums*, 3> least = {};
  const std::vector<double>* weight = nullptr;  ///< seconds of W of the first l layers
  const std::vector<double>* update = nullptr;  ///< seconds of the optimizer step of the first l
                                                ///< layers
  const HeldSums* held = nullptr;               ///< of the replica with most samples
  Collective sum;                               ///< all-reduce of gradients without ZeRO
  Collective ring;  ///< all-reduce in the ring of those that divide the state
  std::vector<Holder> holders;
  std::vector<int> holder_of;  ///< index into `holders` of each replica
  double tensor = 1.0;         ///< members of a replica
  double sharers = 1.0;        ///< replicas that divide what ZeRO divides
  /// What a replica holds on average.
  Holder mean_holder() const;
  /// Whether slices of what ZeRO divides may help that are not equal: unlike replicas divide it all
  /// together.
  bool has_unlike_slices() const {
    return holders.size() > 1 && sharers == static_cast<double>(holder_of.size());
  }
};

/// Seconds and bytes of the stages of a shape with one micro-batch size.
class FrameCosts {
 public:
  /// `placed` and `tables` must outlive it. `other`: of the same shape with another micro-batch
  /// size that replicas share evenly, whose links are taken over where they share this one evenly
  /// too; null: none. `shares`: how replicas that are not alike share samples.
  FrameCosts(const Instance& instance, FrameTables& tables, const PlacedShape& placed,
             std::int64_t micro_batch, const FrameCosts* other = nullptr,
             Shares shares = Shares::balanced);

  const Instance& instance() const { return instance_; }
  const PlacedShape& placed() const { return placed_; }  ///< the stages on their devices
  const LayerSums& sums() const {
    return sums_;
  }  ///< times and sizes of runs of layers, those of `tables`
  const FrameTables& tables() const { return tables_; }  ///< what all frames of the search share
  std::int64_t micro_batch() const {
    return micro_batch_;
  }  ///< samples, of all replicas of a stage together
  /// Micro-batches of one iteration.
  std::int64_t micro_batches() const { return instance_.global_batch_size / micro_batch_; }
  /// Costs of a stage, which stages with the same `PlacedShape::layout_of` share.
  const StageKind& kind(int stage) const {
    return kinds_[static_cast<std::size_t>(placed_.layout_of(stage))];
  }
  /// The samples of each replica of a stage.
  const std::vector<Interval>& samples(int stage) const {
    return samples_[static_cast<std::size_t>(placed_.layout_of(stage))];
  }
  /// Whether every replica of a stage has as many samples as any other.
  bool shares_evenly() const;
  /// Seconds of the cut behind a stage, one way, where the first `end` layers lie before it; 0
  /// behind the last layer.
  double cut_seconds(int stage, std::int64_t end) const;

  struct UplinkLoad {
    std::vector<double> seconds_per_byte;  ///< by stage; of a whole iteration
  };
  /// What cuts send over the uplinks that nodes share: the time of each uplink for every byte per
  /// sample that crosses the cut between a stage and the next one, there and back. The first stage
  /// follows the last where stages have several chunks. Uplinks that are alike, or never the
  /// busiest, are left out.
  const std::vector<UplinkLoad>& uplinks() const { return uplinks_; }
  /// What all-reduces between the replicas of stages send over the uplinks that nodes share: the
  /// time of each uplink for every byte that a member of the stage sums. Uplinks that are alike, or
  /// never the busiest, are left out.
  const std::vector<UplinkLoad>& summing_uplinks() const { return summing_uplinks_; }
  /// Seconds in which all replicas of a stage gather a byte of a member's weights while those of
  /// all stages do.
  double gather_per_byte(int stage) const { return gathers_[static_cast<std::size_t>(stage)]; }

  /// No plan of a frame with these costs takes less, whatever its schedule: all micro-batches of
  /// the slowest stage, where the work is spread over the stages by their speed, or of the longest
  /// layer.
  double least_seconds(Recompute recompute) const;

 private:
  /// What the slowest pair of devices sends from one stage to the next.
  struct Pair {
    double samples = 0.0;
    Link link;
  };

  void add_kind(FrameTables& tables, int number);
  void take_links(const FrameCosts& other);
  void find_pairs();
  void find_uplinks();
  void find_sums();

  const Instance& instance_;
  const FrameTables& tables_;
  const PlacedShape& placed_;
  LayerSums& sums_;
  std::int64_t micro_batch_;
  Shares shares_;
  std::deque<PassSums> least_;                  // of kinds whose replicas differ
  std::vector<StageKind> kinds_;                // by layout
  std::vector<std::vector<Interval>> samples_;  // by layout
  std::vector<std::vector<Pair>> pairs_;        // by stage, those that differ
  std::vector<UplinkLoad> uplinks_;
  std::vector<UplinkLoad> summing_uplinks_;
  std::vector<double> gathers_;  // by stage
};

}  // namespace pptrain
