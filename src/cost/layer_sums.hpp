#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "cost/stage_time.hpp"

namespace pptrain {

/// Seconds of one micro-batch of the first l layers, for l = 0 to the number of layers.
struct PassSums {
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> total;

  /// Seconds of layers [begin, end): `forward`, `backward` and `total`; the other parts are 0.
  PassSeconds of(int begin, int end) const {
    return {forward[end] - forward[begin], backward[end] - backward[begin],
            total[end] - total[begin]};
  }
};

/// How tensor-parallel members divide the layers of a stage.
enum class Sharding {
  profiled,  ///< as the profile does: what it says is all-reduced
  patterns,  ///< by `least_communication`
};

/// Whether selective recomputation computes something again in any layer, and so is a trade of time
/// for memory.
bool takes_time_selectively(const Profile& profile);

/// Sums over the first layers of a profile, so that a search costs any interval of layers with two
/// look-ups. Agrees with `layers_seconds` up to rounding.
class LayerSums {
 public:
  explicit LayerSums(const Instance& instance);

  /// Layers of the profile.
  int num_layers() const { return static_cast<int>(parameters_.size()) - 1; }
  /// Times of replicas like `group` at degree `tensor_parallel`; kept, so that asking again is
  /// cheap. The reference stays valid. By patterns, layers that have no rows at the degree count
  /// nothing.
  const PassSums& times(const ReplicaGroup& group, int tensor_parallel, Recompute recompute,
                        Sharding sharding = Sharding::profiled);
  /// Parameters of layers [begin, end) as a whole, before tensor parallelism divides them.
  double parameters(int begin, int end) const { return parameters_[end] - parameters_[begin]; }
  /// Bytes per sample held between F and W.
  double stored_bytes(int begin, int end, Recompute recompute) const;

 private:
  using Key = std::tuple<std::vector<int>, double, double, double, std::vector<double>, int,
                         Recompute, Sharding>;

  PassSeconds layer_of(const ReplicaGroup& group, int layer, int tensor_parallel,
                       Recompute recompute, Sharding sharding) const;

  const Instance& instance_;
  bool selects_;  // whether selective recomputation takes time
  std::map<Key, PassSums> times_;
  std::vector<double> parameters_;
  std::vector<double> stored_;
  std::vector<double> stored_inputs_;  // with full recomputation
};

}  // namespace pptrain
