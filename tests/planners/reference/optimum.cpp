#include <algorithm>
#include <utility>
#include <vector>

#include "planners/reference/cost.hpp"
#include "planners/reference/spaces.hpp"

namespace pptrain::reference {

double seconds_of(const RandomInstance& instance, const Plan& plan, Form form) {
  return form == Form::amp ? amp(instance.profile, instance.cluster, plan)
                           : dapple(instance.profile, instance.cluster, plan);
}

bool obeys(const Plan& plan, const Restrictions& restrictions) {
  if (restrictions.pipeline && plan.num_stages() != *restrictions.pipeline) return false;
  if (restrictions.schedule != "auto" && plan.schedule.name != restrictions.schedule) return false;
  if (restrictions.micro_batch_size && plan.micro_batch_size != *restrictions.micro_batch_size)
    return false;
  return std::all_of(plan.stages.begin(), plan.stages.end(), [&](const Stage& stage) {
    return (!restrictions.data || stage.replicas == *restrictions.data) &&
           (!restrictions.tensor || stage.tensor_parallel == *restrictions.tensor) &&
           (!restrictions.recompute || stage.recompute == *restrictions.recompute) &&
           (!restrictions.zero_stage || stage.zero_stage == *restrictions.zero_stage);
  });
}

Plan with_fixed_choices(Plan plan, const Restrictions& restrictions) {
  if (restrictions.schedule != "auto") plan.schedule.name = restrictions.schedule;
  for (Stage& stage : plan.stages) {
    stage.recompute = restrictions.recompute.value_or(Recompute::none);
    stage.zero_stage = static_cast<int>(restrictions.zero_stage.value_or(0));
  }
  return plan;
}

std::optional<Optimum> optimum(const RandomInstance& instance, const Space& space, Form form,
                               const Restrictions& restrictions) {
  std::vector<std::pair<std::size_t, double>> found;  // number in the space, seconds
  std::size_t visited = 0;
  space(instance, [&](const Plan& free) {
    const std::size_t number = visited++;
    const Plan plan = with_fixed_choices(free, restrictions);
    if (!obeys(plan, restrictions) || !fits(instance.profile, instance.cluster, plan)) return;
    found.emplace_back(number, seconds_of(instance, plan, form));
  });
  if (found.empty()) return std::nullopt;
  double least = found[0].second;
  for (const auto& [number, seconds] : found) least = std::min(least, seconds);
  const auto first = std::find_if(found.begin(), found.end(),
                                  [&](const auto& f) { return f.second <= least * (1.0 + 1e-12); });
  Optimum result;
  result.seconds = first->second;
  visited = 0;
  space(instance, [&](const Plan& plan) {
    if (visited++ == first->first) result.plan = with_fixed_choices(plan, restrictions);
  });
  return result;
}

}  // namespace pptrain::reference
