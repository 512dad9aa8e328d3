#include "runtime/replan/replan.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cost/cost.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/search.hpp"

namespace pptrain {
namespace {

double simulated_seconds(const Instance& instance, Plan plan) {
  plan.predicted = predict(instance, plan, 0.0);
  PlanSimulator simulator(instance);
  predict_by_simulation(simulator, plan);
  return plan.predicted->iteration_seconds;
}

/// Seconds of sending all that the fullest device will hold over the slowest link.
double moving_seconds(const Instance& instance, const Plan& plan) {
  const std::vector<double> bytes = fixed_bytes(instance, plan, Workspace::left_out);
  std::vector<DeviceId> devices;
  for (int d = 0; d < instance.cluster.num_devices(); ++d) devices.emplace_back(d);
  if (devices.size() < 2) return 0.0;
  return *std::max_element(bytes.begin(), bytes.end()) /
         instance.cluster.slowest_link(devices).bandwidth;
}

/// Why a device cannot hold what it has under both plans; "" when all can.
std::string why_no_room(const Instance& instance, const Plan& present, const Plan& next) {
  std::vector<double> both = fixed_bytes(instance, present, Workspace::left_out);
  const std::vector<double> after = fixed_bytes(instance, next, Workspace::left_out);
  for (std::size_t d = 0; d < both.size(); ++d) both[d] += after[d];
  return largest_overrun(instance.cluster, both);
}

Replan stays(const std::string& why) { return {std::nullopt, "the plan stays: " + why}; }

Replan search_again(const Config& config, const Instance& instance, const Progressing& job,
                    double seconds) {
  const auto start = std::chrono::steady_clock::now();
  Restrictions asked = restrictions_of(config);
  asked.blocks = false;  // not every pattern is run, and nobody is there to read why
  const auto offloads = [](const Stage& stage) { return stage.offloads(); };
  if (std::none_of(job.plan.stages.begin(), job.plan.stages.end(), offloads)) {  // ranks may
                                                                                 // compute on the
                                                                                 // host
    asked.offload = asked.offload.value_or(false);
    asked.offload_activations = asked.offload_activations.value_or(false);
  }
  const SearchResult result = search_plan(config.planner.name, instance, asked, config.source,
                                          Stop(std::min(seconds, config.planner.time_limit)));
  if (!result.plan) return stays(result.why_not);
  if (same_plan(*result.plan, job.plan)) return stays("it is the best for these speeds too");
  const double present = simulated_seconds(instance, job.plan);
  const double next = result.plan->predicted->iteration_seconds;
  const double gain =
      (1.0 - next / present) * job.iteration_seconds * static_cast<double>(job.steps_left);
  const double planning =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cost = planning + moving_seconds(instance, *result.plan);
  const std::string numbers = fmt::format(
      "{} would take {} a step where the present plan takes {}; in {} steps that gains {}, "
      "changing costs {}",
      result.plan->shape(), format_seconds(next), format_seconds(present), job.steps_left,
      format_seconds(gain), format_seconds(cost));
  if (gain <= cost) return stays(numbers);
  const std::string lacks = why_no_room(instance, job.plan, *result.plan);
  if (!lacks.empty()) return stays("there is no room to change it, " + lacks);
  return {result.plan, "new plan: " + numbers};
}

}  // namespace

Replan replan(const Config& config, const Cluster& cluster, const Profile& profile,
              const Progressing& job, double seconds) {
  try {
    const SlowedDevices slowed = slow_down(cluster, profile, job.slowdowns);
    const Instance instance = {slowed.profile, slowed.cluster, config.training.global_batch_size,
                               ties_of(config, profile)};
    return search_again(config, instance, job, seconds);
  } catch (const Error& error) {
    return stays(error.what());  // the other ranks wait for an answer
  }
}

}  // namespace pptrain
