#pragma once

#include <vector>

#include "planners/published/alpa/sharding_cost.hpp"

namespace pptrain {

/// How much one second of t_i and one of a stage's gradient all-reduces count.
struct StageWeights {
  double seconds = 1.0;
  double reduction = 0.0;
};

/// Lower bound of a run without what it takes once; adds up over layers.
double weighed_run(const DivisionCost& division, const StageWeights& weights, int begin, int end);
/// What a run takes once.
double weighed_begin(const DivisionCost& division, const StageWeights& weights);

/// For all stages on meshes of one class the least of weighted t_i and all-reduces over all
/// sequences of divisions. Exact where every replica takes equally long and all links between
/// replicas are alike, else a lower bound. Memory counts layer by layer: infinite where some device
/// cannot hold the layers however each of them is divided.
class ShardingBounds {
 public:
  /// `in_flight`: micro-batches, at least.
  ShardingBounds(const ShardingCost& cost, int num_layers, double in_flight);

  /// Puts the bound of layers [begin, end) in row[end], for every end > begin.
  void find(const StageWeights& weights, int begin, double* row) const;

 private:
  bool may_fit(int begin, int end) const;

  const ShardingCost& cost_;
  int num_layers_;
  std::vector<double> least_workspace_;          // of each device class
  std::vector<std::vector<double>> least_need_;  // of each device class: bytes of the first l
                                                 // layers
};

}  // namespace pptrain
