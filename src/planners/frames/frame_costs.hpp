#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "cost/layer_sums.hpp"
#include "planners/frames/frame.hpp"
#include "planners/frames/site.hpp"
#include "planners/grids/layout.hpp"

namespace pptrain {

/// What costs of frames have in common, kept over all frames of a search.
class FrameTables {
 public:
  explicit FrameTables(const Instance& instance) : instance_(instance), sums_(instance) {}
  LayerSums& sums() { return sums_; }
  /// Seconds of W of the first l layers at least on a replica like `group`; stays valid.
  const std::vector<double>& weight_seconds(const ReplicaGroup& group, int tensor_parallel);
  /// Seconds of the optimizer step over the first l layers on a device of the kind; stays valid.
  const std::vector<double>& update_seconds(int kind, int tensor_parallel);

 private:
  const Instance& instance_;
  LayerSums sums_;
  std::map<std::tuple<std::vector<int>, int, double>, std::vector<double>> weights_;
  std::map<std::pair<int, int>, std::vector<double>> updates_;
};

/// A uniform grid on a site: its stages' devices, and what they share whatever the micro-batch.
class PlacedGrid {
 public:
  PlacedGrid(const Instance& instance, const Site& site, const Grid& grid, ZeroGroup zero_group);

  const Grid& grid() const { return grid_; }
  const std::vector<Mesh>& meshes() const { return meshes_; }
  const GridLayout& layout() const { return layout_; }
  /// Whether the profile has the degree on every device, tensor-parallel groups lie inside nodes, and so on.
  bool possible() const { return possible_; }
  /// Whether replicas of some stage differ in speed, so that they share samples unevenly.
  bool mixes_replicas() const { return mixes_; }
  /// The samples of each replica of a stage.
  std::vector<Interval> samples(LayerSums& sums, int stage, std::int64_t micro_batch) const;

 private:
  bool has_rows(const Instance& instance) const;

  const Instance& instance_;
  Grid grid_;
  std::vector<Mesh> meshes_;
  GridLayout layout_;
  bool possible_ = true;
  bool mixes_ = false;
};

/// What stages that are alike cost, by intervals of layers.
struct StageKind {
  /// Seconds of a collective of so many bytes.
  struct Collective {
    double per_byte = 0.0;
    double latency = 0.0;
    double seconds(double bytes) const { return bytes > 0.0 ? per_byte * bytes + latency : 0.0; }
  };
  /// Replicas that hold equally many samples on equal devices.
  struct Holder {
    double samples = 0.0;
    double memory = 0.0;  ///< bytes of a device
  };
  const PassSums* times[2] = {nullptr, nullptr};  ///< of the slowest replica, without and with F again
  const std::vector<double>* weight = nullptr;    ///< seconds of W of the first l layers
  const std::vector<double>* update = nullptr;    ///< seconds of the optimizer step of the first l layers
  Collective sum;                                 ///< all-reduce of gradients without ZeRO
  Collective ring;                                ///< all-reduce in the ring of those that divide the state
  std::vector<Holder> holders;
  std::vector<double> cuts;  ///< [l]: seconds of the cut behind the first l layers, one way
  double sharers = 1.0;      ///< replicas that divide what ZeRO divides
};

/// Seconds and bytes of the stages of a placed grid with one micro-batch size.
class FrameCosts {
 public:
  /// `placed` and `tables` must outlive it.
  FrameCosts(const Instance& instance, FrameTables& tables, const PlacedGrid& placed, std::int64_t micro_batch);

  const Instance& instance() const { return instance_; }
  const PlacedGrid& placed() const { return placed_; }
  const LayerSums& sums() const { return sums_; }
  std::int64_t micro_batch() const { return micro_batch_; }
  std::int64_t micro_batches() const { return instance_.global_batch_size / micro_batch_; }
  const StageKind& kind(int stage) const {
    return kinds_[static_cast<std::size_t>(placed_.layout().stage_kinds[static_cast<std::size_t>(stage)])];
  }

  /// No plan of a frame with these modes takes less, whatever its schedule: all micro-batches of the slowest stage,
  /// where the work is spread over the stages by their speed, or of the longest layer.
  double least_seconds(const FrameModes& modes) const;

 private:
  void add_kind(FrameTables& tables, int stage);

  const Instance& instance_;
  const PlacedGrid& placed_;
  LayerSums& sums_;
  std::int64_t micro_batch_;
  std::vector<StageKind> kinds_;  // as those of the layout
};

}  // namespace pptrain
