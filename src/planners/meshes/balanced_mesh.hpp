#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "planners/meshes/load_balance.hpp"
#include "planners/meshes/stage_mesh.hpp"

namespace pptrain {

/// Times of replicas that are alike by whole samples, kept over all meshes of a search.
class SampleTimes {
 public:
  explicit SampleTimes(LayerSums& sums) : sums_(sums) {}
  LayerSums& sums() { return sums_; }  ///< the sums given to the constructor

  /// Replicas of one kind at one degree.
  class Row {
   public:
    Row(LayerSums& sums, ReplicaGroup group, int tensor_parallel, Recompute recompute,
        Sharding sharding)
        : sums_(sums),
          group_(std::move(group)),
          tensor_parallel_(tensor_parallel),
          recompute_(recompute),
          sharding_(sharding) {}
    /// Seconds of layers [begin, end) for so many samples.
    double seconds(std::int64_t samples, int begin, int end) {
      const double* sums = totals(samples);
      return sums[end] - sums[begin];
    }

   private:
    const double* totals(std::int64_t samples);

    LayerSums& sums_;
    ReplicaGroup group_;
    int tensor_parallel_;
    Recompute recompute_;
    Sharding sharding_;
    std::vector<const double*> known_;  // by samples
  };
  /// Stays valid.
  Row& row(const ReplicaGroup& group, int tensor_parallel, Recompute recompute, Sharding sharding);

 private:
  using Key = std::tuple<std::vector<int>, double, double, int, Recompute, Sharding>;

  LayerSums& sums_;
  std::map<Key, Row> rows_;
};

/// What a stage costs with some layers.
struct StageCost {
  double seconds = 0.0;   ///< F + B + W of one micro-batch on the slowest replica
  int option = 0;         ///< how it saves memory
  bool by_speed = false;  ///< whether the shares are those by speed alone
};

/// A mesh whose replicas share the samples of a micro-batch by speed and within their memory (Whale
/// 3.3.1): for each interval of layers the shares by the speed at the whole model where they fit,
/// else those of Algorithm 1 for these layers.
class BalancedMesh {
 public:
  /// `micro_batch` holds a sample for each replica.
  BalancedMesh(const Instance& instance, SampleTimes& times, const StageMesh& mesh,
               std::int64_t micro_batch, const std::vector<StageOption>& options, Shares shares);

  const StageMesh& mesh() const { return by_speed_.mesh(); }  ///< the mesh given to the constructor
  /// Costs with the shares by speed at the whole model, or even ones where these are asked for,
  /// whatever the memory.
  const MeshCost& by_speed() const { return by_speed_; }
  /// The fastest way in which the layers fit with so many micro-batches in flight.
  std::optional<StageCost> cost(int begin, int end, double in_flight) const;
  /// No more than the layers take with the shares by speed and any option, whether they fit or not;
  /// adds up over the layers with one option.
  double least_seconds(int begin, int end) const;
  /// Seconds of the gradient all-reduce of the layers, which is the same for all shares.
  double gradient_seconds(int begin, int end) const {
    return by_speed_.gradient_seconds(begin, end);
  }

  /// The samples of each replica for exactly these layers; nothing when they do not fit.
  std::optional<std::vector<Interval>> samples(int option, int begin, int end,
                                               double in_flight) const;
  /// How close the layers come to fitting.
  struct Tightest {
    double shortage = 0.0;  ///< of the device that is short, in parts of its memory; at most 0 when
                            ///< they fit
    int option = 0;
    std::vector<ClassShare> shares;
  };
  /// The option and the shares that come nearest, for saying by how much nothing fits.
  Tightest tightest(int begin, int end, double in_flight) const;

 private:
  std::optional<LoadBalance> balance(int option, int begin, int end, double in_flight) const;
  std::vector<LoadClass> classes(int option, int begin, int end, double in_flight) const;

  MeshCost cost_by_speed(const Instance& instance, SampleTimes& times, const StageMesh& mesh,
                         const std::vector<StageOption>& options);

  std::int64_t micro_batch_;
  Shares shares_;
  double workspace_bytes_;
  std::vector<std::vector<SampleTimes::Row*>> rows_;  // of each option, each class
  MeshCost by_speed_;
};

}  // namespace pptrain
