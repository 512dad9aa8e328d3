#include "report/describe_plan.hpp"

#include <fmt/format.h>

#include "plan/parts.hpp"

namespace pptrain {
namespace {

using nlohmann::json;

json interval(const Interval& interval) { return {interval.begin, interval.end}; }

json optional_number(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

/// Layers that a stage divides otherwise than its others.
json block_document(const Block& block) {
  return {{"layers", interval(block.layers)},
          {"replicas", block.replicas},
          {"tensor_parallel", block.tensor_parallel},
          {"pattern", pattern_names().name_of(block.pattern)}};
}

json blocks_document(const std::vector<Block>& blocks) {
  json list = json::array();
  for (const Block& block : blocks) list.push_back(block_document(block));
  return list;
}

json stage_document(const Stage& stage, const Profile& profile) {
  json layers = json::array();
  for (const Interval& chunk : stage.layers) {
    const auto name = [&](std::int64_t layer) {
      return profile.layers[static_cast<std::size_t>(layer)].name;
    };
    layers.push_back({{"interval", interval(chunk)},
                      {"first", name(chunk.begin)},
                      {"last", name(chunk.end - 1)}});
  }
  json devices = json::array();
  for (const auto& replica : stage.devices) {
    json row = json::array();
    for (const DeviceId device : replica) row.push_back(device.value);
    devices.push_back(std::move(row));
  }
  json samples = json::array();
  for (const Interval& share : stage.samples) samples.push_back(interval(share));
  return {{"layers", std::move(layers)},
          {"replicas", stage.replicas},
          {"tensor_parallel", stage.tensor_parallel},
          {"devices", std::move(devices)},
          {"samples", std::move(samples)},
          {"recompute", to_string(stage.recompute)},
          {"zero_stage", stage.zero_stage},
          {"offload", stage.offload},
          {"uneven_shards", stage.shards.size() > (divides_experts(stage.shards) ? 1 : 0)},
          {"whole_experts", divides_experts(stage.shards)},
          {"blocks", blocks_document(stage.blocks)},
          {"offload_activations", stage.offload_activations}};
}

std::string schedule_text(const ScheduleChoice& schedule) {
  std::string text = schedule.name;
  if (schedule.virtual_stages > 1)
    text += fmt::format(", {} chunks a stage", schedule.virtual_stages);
  if (schedule.unit > 0) text += fmt::format(", units of {}", schedule.unit);
  return text;
}

json predicted_document(const Prediction& predicted) {
  json parts = json::array();
  const auto add = [&](const char* name, double seconds) {
    parts.push_back({{"name", name}, {"seconds", seconds}});
  };
  add("compute of the slowest stage", predicted.parts.compute);
  add("bubble", predicted.parts.bubble);
  add("pipeline communication", predicted.parts.pipeline_communication);
  add("tensor-parallel communication", predicted.parts.tensor_communication);
  add("parameter gathers", predicted.parts.parameter_gathers);
  add("gradient synchronization", predicted.parts.gradient_synchronization);
  return {{"iteration_seconds", predicted.iteration_seconds},
          {"error_band", predicted.error_band ? json(predicted.error_band->relative) : json()},
          {"simulated", predicted.basis == PredictionBasis::simulation},
          {"estimates", predicted.estimates},
          {"lower_bound_seconds", predicted.lower_bound_seconds},
          {"bubble_fraction", predicted.bubble_fraction},
          {"parts", std::move(parts)},
          {"stage_seconds", predicted.stage_seconds}};
}

json speed_document(const SpeedPrediction& speed) {
  return {{"samples_per_second", speed.samples_per_second},
          {"tokens_per_second", optional_number(speed.tokens_per_second)},
          {"flop_per_second", optional_number(speed.flop_per_second)},
          {"utilization", optional_number(speed.utilization)},
          {"precision", speed.precision},
          {"training_tokens", optional_number(speed.training_tokens)},
          {"training_seconds", optional_number(speed.training_seconds)}};
}

json cost_document(const Prediction& predicted) {
  const CostPrediction& cost = *predicted.cost;
  json document = {{"nodes", cost.nodes},
                   {"currency", cost.currency},
                   {"money_per_hour", optional_number(cost.money_per_hour)},
                   {"money_per_billion_tokens", optional_number(cost.money_per_billion_tokens)},
                   {"watts", optional_number(cost.watts)}};
  if (!cost.training) return document;
  document["training"] = {{"seconds", cost.training->seconds},
                          {"node_hours", cost.training->node_hours},
                          {"money", optional_number(cost.training->money)},
                          {"kilowatt_hours", optional_number(cost.training->kilowatt_hours)}};
  return document;
}

json kinds_document(const std::vector<KindPrediction>& kinds) {
  json list = json::array();
  for (const KindPrediction& kind : kinds) {
    list.push_back({{"kind", kind.kind},
                    {"devices", kind.devices},
                    {"used", kind.used},
                    {"computing", optional_number(kind.computing)},
                    {"waiting", optional_number(kind.waiting)},
                    {"idle", optional_number(kind.idle)},
                    {"utilization", optional_number(kind.utilization)}});
  }
  return list;
}

}  // namespace

json plan_document(const PlanOfRun& of_run, const Profile& profile) {
  const Plan& plan = of_run.plan;
  json document = {{"from_step", of_run.from_step},
                   {"planner", plan.planner},
                   {"shape", plan.shape()},
                   {"schedule", schedule_text(plan.schedule)},
                   {"micro_batch_size", plan.samples_per_micro_batch()},
                   {"micro_batches", plan.micro_batches},
                   {"candidates", plan.search_candidates},
                   {"search_seconds", plan.search_seconds},
                   {"search_complete", plan.search_complete}};
  document["stages"] = json::array();
  for (const Stage& stage : plan.stages)
    document["stages"].push_back(stage_document(stage, profile));
  if (plan.predicted) document["predicted"] = predicted_document(*plan.predicted);
  if (plan.predicted && plan.predicted->speed)
    document["predicted"]["speed"] = speed_document(*plan.predicted->speed);
  if (plan.predicted && plan.predicted->cost)
    document["predicted"]["cost"] = cost_document(*plan.predicted);
  if (plan.predicted && plan.predicted->failures) {
    const FailurePrediction& failures = *plan.predicted->failures;
    document["predicted"]["failures"] = {{"mtbf", failures.mtbf_seconds},
                                         {"interval", failures.interval_seconds},
                                         {"steps", failures.interval_steps},
                                         {"goodput", failures.goodput}};
  }
  if (plan.predicted) document["predicted"]["kinds"] = kinds_document(plan.predicted->kinds);
  document["alternatives"] = json::array();
  for (const Alternative& other : plan.alternatives) {
    document["alternatives"].push_back(
        {{"planner", other.planner},
         {"iteration_seconds", optional_number(other.iteration_seconds)},
         {"measured_seconds", optional_number(other.measured_seconds)},
         {"why_not", other.why_not}});
  }
  document["schedules"] = json::array();
  for (const ScheduleAlternative& other : plan.schedules) {
    document["schedules"].push_back(
        {{"schedule", schedule_text(other.schedule)},
         {"iteration_seconds", optional_number(other.iteration_seconds)},
         {"why_not", other.why_not}});
  }
  return document;
}

std::string node_name(const Cluster& cluster, int node) {
  const int group = cluster.group_of(cluster.devices_of_node(node).front());
  int first = node;
  while (first > 0 && cluster.group_of(cluster.devices_of_node(first - 1).front()) == group)
    --first;
  const NodeGroup& nodes = cluster.groups[static_cast<std::size_t>(group)];
  const auto index = static_cast<std::size_t>(node - first);
  if (index < nodes.hosts.size()) return nodes.hosts[index];
  return nodes.count == 1 ? nodes.kind : fmt::format("{} {}", nodes.kind, index);
}

}  // namespace pptrain
