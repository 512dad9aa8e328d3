#pragma once

#include <string>

#include "planners/planner.hpp"
#include "planners/uniform_search.hpp"

namespace pptrain {

/// AMP's Algorithm 1: every uniform grid and micro-batch size with the exact division of the layers.
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
  std::string description() const override { return "smallest model parallelism that fits, even layers (Megatron-LM)"; }
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

/// The best of the candidates as an outcome of the planner called `planner`.
Outcome outcome_of(const SearchSpace& space, const UniformCandidates& candidates, const std::string& planner);

}  // namespace pptrain
