#pragma once

#include <cstdint>

#include "config/trainer_kinds.hpp"
#include "cost/cost.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// What plans have to be beside what the keys of a job say: such that another trainer runs them.
/// All members may be called by several threads at a time.
class PlanRule {
 public:
  virtual ~PlanRule() = default;
  virtual const TrainerKind& trainer() const = 0;  ///< the trainer that is to run the plans
  /// Whether the trainer runs the plan, which is valid for the instance.
  virtual bool allows(const Instance& instance, const Plan& plan) const = 0;
  /// Whether the trainer divides the layers over so many members of a tensor-parallel group.
  virtual bool allows_degree(int tensor_parallel) const = 0;
  /// Whether the trainer runs the model in several stages.
  virtual bool allows_pipeline() const = 0;
  /// Whether a chunk may begin with this layer, which is not the first one.
  virtual bool allows_cut(std::int64_t layer) const = 0;
};

}  // namespace pptrain
