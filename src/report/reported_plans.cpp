#include "report/reported_plans.hpp"

#include "base/error.hpp"
#include "cost/state_bytes.hpp"
#include "planners/judge/planned_orders.hpp"
#include "report/describe_plan.hpp"
#include "report/numbers.hpp"
#include "report/timeline.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {
namespace {

using nlohmann::json;

constexpr std::size_t most_tasks = 6000;

const Plan& last_plan(const ReportedPlans& reported) { return reported.plans.back().plan; }

Instance instance_of(const ReportedPlans& reported) {
  const std::vector<Tie> ties =
      reported.config ? ties_of(*reported.config, reported.profile) : std::vector<Tie>();
  return {reported.profile, reported.cluster, last_plan(reported).global_batch_size, ties};
}

/// Every device of the plan, in its order.
std::vector<DeviceId> devices_of(const Plan& plan) {
  std::vector<DeviceId> devices;
  for (const Stage& stage : plan.stages) {
    for (const auto& replica : stage.devices)
      devices.insert(devices.end(), replica.begin(), replica.end());
  }
  return devices;
}

json device_document(const Cluster& cluster, const Plan& plan, const std::vector<StateBytes>& state,
                     DeviceId device) {
  const DeviceKind& kind = cluster.kind_of(device);
  json entry = {{"id", device.value}, {"kind", kind.name}, {"memory", kind.memory}};
  if (plan.predicted && device.index() < plan.predicted->peak_bytes.size()) {
    const StateBytes& held = state[device.index()];
    entry["predicted_bytes"] = short_number(plan.predicted->peak_bytes[device.index()]);
    entry["state"] = {{"weights", short_number(held.weights)},
                      {"gradients", short_number(held.gradients)},
                      {"optimizer", short_number(held.optimizer)}};
  }
  return entry;
}

Timeline simulated_timeline(const ReportedPlans& reported, const std::vector<DeviceId>& devices) {
  const Plan& plan = last_plan(reported);
  const Instance instance = instance_of(reported);
  check_instance(instance, "profile.json");
  const Programs programs = planned_programs(instance, plan);
  const Simulation simulation = simulate(instance, plan, programs, {Recording::events});
  Timeline timeline = timeline_of(simulation.trace, devices);
  timeline.seconds = simulation.makespan_seconds;
  return timeline;
}

}  // namespace

json nodes_document(const ReportedPlans& reported) {
  const Cluster& cluster = reported.cluster;
  const std::vector<StateBytes> state = state_bytes(instance_of(reported), last_plan(reported));
  json list = json::array();
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    json devices = json::array();
    for (const DeviceId device : cluster.devices_of_node(node)) {
      devices.push_back(device_document(cluster, last_plan(reported), state, device));
    }
    list.push_back({{"kind", cluster.group_of_node(node).kind},
                    {"name", node_name(cluster, node)},
                    {"devices", std::move(devices)}});
  }
  return list;
}

json timelines_document(const ReportedPlans& reported, const json& chrome_trace, json& notes) {
  const std::vector<DeviceId> devices = devices_of(last_plan(reported));
  Timeline predicted;
  try {
    predicted = simulated_timeline(reported, devices);
  } catch (const Error& error) {
    notes.push_back(fmt::format("The plan cannot be simulated: {}.", error.what()));
  }
  Timeline measured;
  if (chrome_trace.is_object()) measured = timeline_of(chrome_trace, devices);
  if (measured.rows.empty())
    join_alike(predicted);  // else both have their devices in the same rows
  thin(predicted, measured, most_tasks);
  return {{"predicted", to_json(predicted)}, {"measured", to_json(measured)}};
}

json plans_document(const ReportedPlans& reported) {
  json plans = json::array();
  for (const PlanOfRun& plan : reported.plans)
    plans.push_back(plan_document(plan, reported.profile));
  return plans;
}

json planned_job_document(const ReportedPlans& reported) {
  const Plan& plan = last_plan(reported);
  return {
      {"name", reported.config ? reported.config->job.name : plan.model},
      {"model", plan.model},
      {"cluster", reported.cluster.name},
      {"devices", reported.cluster.num_devices()},
      {"nodes", reported.cluster.num_nodes()},
      {"global_batch_size", plan.samples_per_step()},
      {"unit", reported.config && reported.config->rows_per_sample() == 1 ? "samples" : "tokens"}};
}

}  // namespace pptrain
