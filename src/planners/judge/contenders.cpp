#include "planners/judge/contenders.hpp"

#include <algorithm>
#include <iterator>

#include "planners/judge/simulated_plan.hpp"

namespace pptrain {
namespace {

double predicted_seconds(const Plan& plan) {
  return plan.predicted ? plan.predicted->iteration_seconds : 0.0;
}

void sort_by_prediction(std::vector<Plan>& plans) {
  std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) {
    return predicted_seconds(a) < predicted_seconds(b);
  });
}

/// All but the chosen one, each different plan once.
std::vector<Plan> others_of(const SearchResult& result) {
  std::vector<Plan> plans;
  const auto add = [&](const Plan& plan) {
    const auto same = [&](const Plan& other) { return same_plan(plan, other); };
    if (!same(*result.plan) && std::none_of(plans.begin(), plans.end(), same))
      plans.push_back(plan);
  };
  for (const Plan& plan : result.others) add(plan);
  for (const GridCandidate& grid : result.grids) {
    if (grid.plan) add(*grid.plan);
  }
  return plans;
}

/// Whether two plans differ at most in which layers and devices their stages have, so that people
/// read the same of both and a trial of one says much of the other.
bool alike(const Plan& a, const Plan& b) {
  return a.shape() == b.shape() && a.schedule == b.schedule &&
         a.micro_batch_size == b.micro_batch_size &&
         std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(),
                    [](const Stage& x, const Stage& y) {
                      return x.zero_stage == y.zero_stage && x.zero_groups == y.zero_groups &&
                             x.zero_slices == y.zero_slices && x.recompute == y.recompute &&
                             x.offload == y.offload;
                    });
}

}  // namespace

std::vector<Plan> contenders(const SearchResult& result, const Instance& instance, int count) {
  if (!result.plan || count < 1) return {};
  std::vector<Plan> others = others_of(result);
  for (Plan& plan : others) predict_by_larger_form(plan);
  sort_by_prediction(others);
  // The form may rank a few differently, so more are simulated than are wanted.
  constexpr std::size_t simulated_per_plan = 4;
  others.resize(std::min(others.size(), simulated_per_plan * static_cast<std::size_t>(count)));
  PlanSimulator simulator(instance);
  for (Plan& plan : others) predict_by_simulation(simulator, plan);
  std::erase_if(others, [&](const Plan& plan) {
    return !largest_overrun(instance.cluster, plan.predicted->peak_bytes).empty();
  });
  sort_by_prediction(others);
  std::vector<Plan> best = {*result.plan};
  std::vector<Plan> like_better_ones;
  for (Plan& plan : others) {
    const bool is_like = std::any_of(best.begin(), best.end(),
                                     [&plan](const Plan& other) { return alike(plan, other); });
    (is_like ? like_better_ones : best).push_back(std::move(plan));
  }
  std::move(like_better_ones.begin(), like_better_ones.end(), std::back_inserter(best));
  best.resize(std::min(best.size(), static_cast<std::size_t>(count)));
  return best;
}

}  // namespace pptrain
