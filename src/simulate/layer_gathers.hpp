#pragma once

#include <array>
#include <map>
#include <vector>

#include "cost/shared_uplinks.hpp"
#include "simulate/phase_seconds.hpp"
#include "simulate/prices.hpp"

namespace pptrain {

/// A layer on one replica of a stage that divides its state.
struct LayerCost {
  PhaseSeconds seconds = {};  ///< of its tasks, collectives of the tensor-parallel group included
  double gather = 0.0;        ///< until all weights of the slowest member are there
  double update = 0.0;        ///< of the optimizer
};

/// Layers of a part on its replicas.
class LayerCosts {
 public:
  /// What is referred to outlives it. `gathering`: the groups of replicas that gather weights at
  /// the same time; `tensor_bandwidth`: that of the part.
  LayerCosts(const Instance& instance, const StagePart& part, const UplinkShares& gathering,
             double tensor_bandwidth)
      : instance_(instance),
        part_(part),
        gathering_(gathering),
        tensor_bandwidth_(tensor_bandwidth) {}

  /// Costs of the layers in their order.
  std::vector<LayerCost> of(int replica);

 private:
  double shared_bandwidth(const Interval& group);

  const Instance& instance_;
  const StagePart& part_;
  const UplinkShares& gathering_;
  double tensor_bandwidth_;
  std::map<std::int64_t, double> shared_;  // bandwidth of the groups of replicas, by their first
};

/// Stage 3, layer by layer: while one computes, the weights of the next one come. Adds to the tasks
/// what is waited for beyond that, and what the simulator needs to know of the first and the last
/// layer. `beside`: the part of hidden gathers by which the computation beside them takes longer.
void add_layer_gathers(const std::vector<LayerCost>& layers, double beside,
                       std::array<TaskPrice, num_phases>& tasks);

}  // namespace pptrain
