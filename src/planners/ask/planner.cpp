#include "planners/ask/planner.hpp"

#include "plan/match.hpp"
#include "plan/uniformity.hpp"
#include "plan/zero_groups.hpp"

namespace pptrain {

bool obeys_rules(const SearchSpace& space, const Plan& plan) {
  const Restrictions& wanted = space.restrictions;
  return (!wanted.uniform || is_even_grid(plan)) &&
         (!wanted.rule || wanted.rule->allows(space.instance, plan));
}

bool is_refused(const SearchSpace& space, const Plan& plan) {
  if (!obeys_rules(space, plan)) return true;
  return space.check != nullptr && !space.check->accepts(plan);
}

Plan finished_plan(const SearchSpace& space, Plan plan, const std::string& planner) {
  plan.planner = planner;
  plan.model = space.instance.profile.model;
  plan.context = static_cast<int>(space.instance.profile.context);
  plan.cluster = space.instance.cluster.name;
  plan.device_kinds = kind_runs(space.instance.cluster);
  for (Stage& stage : plan.stages) {
    if (!stage.zero_slices.empty()) continue;  // all replicas are one group
    divide_state(stage, stage.zero_stage,
                 space.restrictions.zero_group.value_or(zero_group_of(stage)),
                 space.instance.cluster);
  }
  plan.predicted = predict(space.instance, plan, 0.0);
  plan.predicted->estimate_seconds =
      plan.predicted->estimates.at(planner == "dapple" ? "dapple" : "amp");
  return plan;
}

}  // namespace pptrain
