#include "check_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "cluster/read.hpp"
#include "cost/cost.hpp"
#include "planners/judge/planned_orders.hpp"
#include "program/check.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {
namespace {

constexpr const char* cluster_text = R"(
[[device]]
kind = "v"
memory = "1 MB"
[[device]]
kind = "t"
memory = "2 MB"
[[node]]
count = 2
devices = { kind = "v", count = 3 }
link = { bandwidth = "1 GB/s", latency = "1 us" }
uplink = { bandwidth = "100 MB/s", latency = "10 us" }
host_link = { bandwidth = "1 GB/s" }
[[node]]
devices = { kind = "t", count = 2 }
link = { bandwidth = "1 GB/s" }
uplink = { bandwidth = "50 MB/s" }
host_link = { bandwidth = "1 GB/s" }
cores = 1
)";

/// Four layers for both kinds at degrees 1 and 2; update times and a layer without parameters among
/// them.
Profile small_profile() {
  Profile profile;
  profile.model = "fuzzed";
  for (int l = 0; l < 4; ++l) {
    ProfileLayer& layer = profile.layers.emplace_back();
    layer.name = fmt::format("layer{}", l);
    layer.parameters = 1000.0 * l;
    layer.exchange_bytes = 50.0;
    layer.output_bytes = layer.stored_bytes = layer.tensor_parallel_allreduce_bytes = 100.0;
    for (const char* kind : {"v", "t"}) {
      for (const int degree : {1, 2}) {
        layer.rows.push_back({kind, degree, 1.0, {1e-3, 1e-3, 1e-3}, true});
        layer.rows.push_back({kind, degree, 4.0, {3e-3, 3e-3, 3e-3}, true});
        layer.update_seconds[{kind, degree}] = 1e-4;
      }
    }
  }
  profile.workspace_bytes = 10.0;
  profile.workspace_bytes_per_sample = 1.0;
  return profile;
}

void check_number(const char* what, double value) {
  PPTRAIN_ASSERT(std::isfinite(value) && value >= 0.0, "{} is {}", what, value);
}

/// What is predicted event by event. Plans of many micro-batches take long.
void check_simulation(const Instance& instance, const Plan& plan) {
  constexpr std::int64_t most_micro_batches = 64;
  if (plan.micro_batches > most_micro_batches) return;
  const Programs programs = planned_programs(instance, plan);
  const std::string violation = find_violation(plan, programs);
  PPTRAIN_ASSERT(violation.empty(), "{}", violation);
  const Simulation simulation = simulate(instance, plan, programs);
  check_number("makespan", simulation.makespan_seconds);
  for (const SimulatedDevice& device : simulation.devices) {
    check_number("peak", device.peak_bytes);
    check_number("busy", device.busy_seconds);
    check_number("communication", device.communication_seconds);
  }
}

}  // namespace

void check_costs(const Plan& plan) {
  static const Cluster cluster = parse_cluster(cluster_text, "cluster");
  static const Profile profile = small_profile();
  const Instance instance = {profile, cluster, plan.global_batch_size};
  try {
    validate_plan(plan, profile.num_layers(), cluster.num_devices(), "fuzzed");
    const Prediction prediction = predict(instance, plan, 0.0);
    check_number("iteration", prediction.iteration_seconds);
    for (const auto& [name, seconds] : prediction.estimates) check_number(name.c_str(), seconds);
    for (const double bytes : prediction.peak_bytes) check_number("memory", bytes);
    check_number("bubble", prediction.bubble_fraction);
    const TimeParts parts = time_parts(instance, plan);
    for (const double seconds :
         {parts.compute, parts.bubble, parts.pipeline_communication, parts.tensor_communication,
          parts.parameter_gathers, parts.gradient_synchronization}) {
      check_number("part", seconds);
    }
    check_simulation(instance, plan);
    const std::string why_not = why_not_fit(instance, plan);
    const bool over = std::any_of(prediction.peak_bytes.begin(), prediction.peak_bytes.end(),
                                  [](double bytes) { return bytes > 2e6; });
    PPTRAIN_ASSERT(!over || !why_not.empty(), "more than any device has, yet it fits");
  } catch (const Error&) {
  }
}

}  // namespace pptrain
