#include "planners/given_plan.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "cost/overrun.hpp"
#include "plan/match.hpp"
#include "planners/judge/simulated_plan.hpp"

namespace pptrain {

Plan given_plan(const Config& config, const Instance& instance) {
  return given_plan(read_plan(config.parallelism.plan), config, instance);
}

Plan given_plan(Plan plan, const Config& config, const Instance& instance) {
  const std::string& path = config.parallelism.plan;
  validate_plan(plan, instance.profile.num_layers(), instance.cluster.num_devices(), path);
  check_plan_shards(plan, instance.profile.axes, path);
  check_plan_context(plan, instance.profile.context, path);
  if (plan.global_batch_size != instance.global_batch_size) {
    throw_bad_input({path,
                     fmt::format("global_batch_size = {}, but {} says {}", plan.global_batch_size,
                                 config.source, instance.global_batch_size),
                     "plan and configuration must agree", "make them equal"});
  }
  plan.device_kinds = kind_runs(instance.cluster);
  plan.predicted = predict(instance, plan);
  PlanSimulator simulator(instance);
  predict_by_simulation(simulator, plan);
  plan.alternatives.clear();
  plan.search_candidates = 0;
  plan.search_seconds = 0.0;
  const std::string why_not = overrun_by_parts(instance, plan, plan.predicted->peak_bytes);
  if (!why_not.empty()) {
    const char* offload = instance.cluster.has_host_links() ? ", a higher zero_stage or offload"
                                                            : " or a higher zero_stage";
    throw_no_feasible_plan(
        {path, "the plan does not fit", why_not,
         fmt::format("search a plan for this cluster, or use recompute{} in it", offload)});
  }
  return plan;
}

}  // namespace pptrain
