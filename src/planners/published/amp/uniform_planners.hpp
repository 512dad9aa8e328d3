#pragma once

#include <string>

#include "planners/ask/planner.hpp"
#include "planners/published/amp/uniform_search.hpp"

namespace pptrain {

/// AMP's Algorithm 1: every uniform grid and micro-batch size with the exact division of the
/// layers.
class AmpPlanner : public Planner {
 public:
  std::string name() const override { return "amp"; }
  std::string description() const override { return "uniform grids, layers divided exactly (AMP)"; }
  PlanScope scope() const override { return PlanScope::uniform; }
  Outcome search(const SearchSpace& space) const override;
};

/// Megatron-LM's heuristics.
class MegatronPlanner : public Planner {
 public:
  std::string name() const override { return "megatron"; }
  std::string description() const override {
    return "smallest model parallelism that fits, even layers (Megatron-LM)";
  }
  PlanScope scope() const override { return PlanScope::uniform; }
  Outcome search(const SearchSpace& space) const override;
};

/// Every device a replica of the whole model.
class DataParallelPlanner : public Planner {
 public:
  std::string name() const override { return "data-parallel"; }
  std::string description() const override { return "every device a replica of the whole model"; }
  PlanScope scope() const override { return PlanScope::uniform; }
  Outcome search(const SearchSpace& space) const override;
};

/// AMP's ablation "ours w/ uniform".
class UniformLayersPlanner : public Planner {
 public:
  std::string name() const override { return "amp-uniform-layers"; }
  std::string description() const override {
    return "uniform grids, layers divided by count (AMP's ablation)";
  }
  PlanScope scope() const override { return PlanScope::uniform; }
  Outcome search(const SearchSpace& space) const override;
};

/// AMP's ablation "ours w/ parameter".
class UniformParametersPlanner : public Planner {
 public:
  std::string name() const override { return "amp-uniform-parameters"; }
  std::string description() const override {
    return "uniform grids, layers divided by parameters (AMP's ablation)";
  }
  PlanScope scope() const override { return PlanScope::uniform; }
  Outcome search(const SearchSpace& space) const override;
};

/// AMP's baseline RS.
class RandomPlanner : public Planner {
 public:
  std::string name() const override { return "random"; }
  std::string description() const override {
    return "the best of some uniform grids drawn at random (AMP's RS)";
  }
  PlanScope scope() const override { return PlanScope::uniform; }
  Outcome search(const SearchSpace& space) const override;
};

/// AMP's Algorithm 2: simulated annealing over degrees, micro-batch sizes and domino tilings.
class AnnealingPlanner : public Planner {
 public:
  std::string name() const override { return "amp-sa"; }
  std::string description() const override {
    return "uniform grids placed by simulated annealing (AMP's SA)";
  }
  PlanScope scope() const override { return PlanScope::uniform; }
  Outcome search(const SearchSpace& space) const override;
};

/// The best of the candidates as an outcome of the planner called `planner`.
Outcome outcome_of(const SearchSpace& space, UniformCandidates candidates,
                   const std::string& planner);

}  // namespace pptrain
