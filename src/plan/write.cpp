#include "plan/plan.hpp"
#include "profile/json.hpp"

namespace pptrain {
namespace {

Json interval_json(Interval interval) { return Json::array({interval.begin, interval.end}); }

Json intervals_json(const std::vector<Interval>& intervals) {
  Json json = Json::array();
  for (const Interval& interval : intervals) json.push_back(interval_json(interval));
  return json;
}

Json shards_json(const std::map<std::string, std::vector<Interval>>& shards) {
  Json json = Json::object();
  for (const auto& [axis, parts] : shards) json[axis] = intervals_json(parts);
  return json;
}

Json block_json(const Block& block) {
  return {{"layers", interval_json(block.layers)},
          {"replicas", block.replicas},
          {"tensor_parallel", block.tensor_parallel},
          {"pattern", pattern_names().name_of(block.pattern)},
          {"samples", intervals_json(block.samples)},
          {"shards", shards_json(block.shards)}};
}

Json stage_json(const Stage& stage) {
  Json devices = Json::array();
  for (const auto& row : stage.devices) {
    devices.push_back(Json::array());
    for (const DeviceId device : row) devices.back().push_back(device.value);
  }
  Json blocks = Json::array();
  for (const Block& block : stage.blocks) blocks.push_back(block_json(block));
  Json json = {{"layers", intervals_json(stage.layers)},
               {"replicas", stage.replicas},
               {"tensor_parallel", stage.tensor_parallel},
               {"devices", devices},
               {"samples", intervals_json(stage.samples)},
               {"shards", shards_json(stage.shards)},
               {"recompute", to_string(stage.recompute)},
               {"zero_stage", stage.zero_stage},
               {"offload", stage.offload},
               {"blocks", blocks}};
  if (stage.offload_activations) json["offload_activations"] = true;
  if (!stage.zero_groups.empty()) json["zero_groups"] = intervals_json(stage.zero_groups);
  if (!stage.zero_slices.empty()) json["zero_slices"] = intervals_json(stage.zero_slices);
  return json;
}

Json parts_json(const TimeParts& parts) {
  return {{"compute_seconds", json_number(parts.compute)},
          {"bubble_seconds", json_number(parts.bubble)},
          {"pipeline_communication_seconds", json_number(parts.pipeline_communication)},
          {"tensor_communication_seconds", json_number(parts.tensor_communication)},
          {"parameter_gather_seconds", json_number(parts.parameter_gathers)},
          {"gradient_synchronization_seconds", json_number(parts.gradient_synchronization)}};
}

Json numbers_json(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(json_number(value));
  return json;
}

void add_number(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = json_number(*value);
}

Json speed_json(const SpeedPrediction& speed) {
  Json json = {{"samples_per_second", json_number(speed.samples_per_second)}};
  add_number(json, "tokens_per_second", speed.tokens_per_second);
  if (!speed.flop_source.empty()) json["model_flops_from"] = speed.flop_source;
  add_number(json, "flop_per_second", speed.flop_per_second);
  if (!speed.precision.empty()) json["precision"] = speed.precision;
  add_number(json, "model_flops_utilization", speed.utilization);
  add_number(json, "training_tokens", speed.training_tokens);
  add_number(json, "training_seconds", speed.training_seconds);
  return json;
}

Json kind_prediction_json(const KindPrediction& kind) {
  Json json = {{"kind", kind.kind},
               {"devices", kind.devices},
               {"used", kind.used},
               {"memory_bytes", json_number(kind.memory_bytes)},
               {"reserve_bytes", json_number(kind.reserve_bytes)}};
  add_number(json, "computing", kind.computing);
  add_number(json, "waiting", kind.waiting);
  add_number(json, "idle", kind.idle);
  add_number(json, "flop_per_second", kind.flop_per_second);
  add_number(json, "peak_flop_per_second", kind.peak_flop_per_second);
  add_number(json, "model_flops_utilization", kind.utilization);
  return json;
}

Json failures_json(const FailurePrediction& failures) {
  return {{"mtbf_seconds", json_number(failures.mtbf_seconds)},
          {"checkpoint_seconds", json_number(failures.checkpoint_seconds)},
          {"restart_seconds", json_number(failures.restart_seconds)},
          {"interval_seconds", json_number(failures.interval_seconds)},
          {"interval_steps", failures.interval_steps},
          {"goodput", json_number(failures.goodput)}};
}

Json training_json(const TrainingTotals& training) {
  Json json = {{"tokens", json_number(training.tokens)},
               {"seconds", json_number(training.seconds)},
               {"node_hours", json_number(training.node_hours)}};
  add_number(json, "money", training.money);
  add_number(json, "kilowatt_hours", training.kilowatt_hours);
  return json;
}

Json cost_json(const CostPrediction& cost) {
  Json json = {{"nodes", cost.nodes}, {"objective", objective_names().name_of(cost.objective)}};
  if (!cost.currency.empty()) json["currency"] = cost.currency;
  add_number(json, "money_per_hour", cost.money_per_hour);
  if (cost.egress_per_step > 0.0) json["egress_per_step"] = json_number(cost.egress_per_step);
  add_number(json, "money_per_step", cost.money_per_step);
  add_number(json, "money_per_billion_tokens", cost.money_per_billion_tokens);
  add_number(json, "watts", cost.watts);
  if (cost.training) json["training"] = training_json(*cost.training);
  return json;
}

Json prediction_json(const Prediction& prediction) {
  Json estimates = Json::object();
  for (const auto& [name, seconds] : prediction.estimates) estimates[name] = json_number(seconds);
  Json json = {
      {"basis", prediction.basis == PredictionBasis::simulation ? "simulation" : "estimate"},
      {"iteration_seconds", json_number(prediction.iteration_seconds)},
      {"estimate_seconds", json_number(prediction.estimate_seconds)},
      {"estimates", estimates},
      {"lower_bound_seconds", json_number(prediction.lower_bound_seconds)},
      {"bubble_fraction", json_number(prediction.bubble_fraction)},
      {"parts", parts_json(prediction.parts)},
      {"stage_seconds", numbers_json(prediction.stage_seconds)},
      {"peak_bytes", numbers_json(prediction.peak_bytes)}};
  if (!prediction.like.empty()) json["like"] = prediction.like;
  if (prediction.error_band) {
    json["error_band"] = {{"relative", json_number(prediction.error_band->relative)},
                          {"runs", prediction.error_band->runs},
                          {"of", prediction.error_band->of}};
  }
  if (prediction.speed) json["speed"] = speed_json(*prediction.speed);
  for (const KindPrediction& kind : prediction.kinds)
    json["kinds"].push_back(kind_prediction_json(kind));
  if (prediction.cost) json["cost"] = cost_json(*prediction.cost);
  if (prediction.failures) json["failures"] = failures_json(*prediction.failures);
  return json;
}

Json schedule_json(const ScheduleChoice& schedule) {
  return {{"name", schedule.name},
          {"virtual_stages", schedule.virtual_stages},
          {"unit", schedule.unit}};
}

Json schedule_alternative_json(const ScheduleAlternative& other) {
  const auto& seconds = other.iteration_seconds;
  return {{"schedule", schedule_json(other.schedule)},
          {"iteration_seconds", seconds ? json_number(*seconds) : Json(nullptr)},
          {"why_not", other.why_not}};
}

Json correlations_json(const RankCorrelations& correlations) {
  Json forms = Json::object();
  for (const auto& [form, coefficient] : correlations.forms) forms[form] = json_number(coefficient);
  return {{"plans", correlations.num_plans}, {"forms", forms}};
}

Json alternative_json(const Alternative& alternative) {
  const auto& seconds = alternative.iteration_seconds;
  Json json = {{"planner", alternative.planner},
               {"iteration_seconds", seconds ? json_number(*seconds) : Json(nullptr)},
               {"feasible", alternative.feasible},
               {"why_not", alternative.why_not}};
  if (alternative.measured_seconds)
    json["measured_seconds"] = json_number(*alternative.measured_seconds);
  return json;
}

Json device_kinds_json(const std::vector<KindRun>& runs) {
  Json json = Json::array();
  for (const KindRun& run : runs) json.push_back({{"kind", run.kind}, {"count", run.count}});
  return json;
}

}  // namespace

std::string write_plan(const Plan& plan) {
  Json json = {{"schema", "pptrain.plan/1"},
               {"planner", plan.planner},
               {"model", plan.model},
               {"cluster", plan.cluster},
               {"device_kinds", device_kinds_json(plan.device_kinds)},
               {"global_batch_size", plan.global_batch_size},
               {"micro_batch_size", plan.micro_batch_size},
               {"micro_batches", plan.micro_batches}};
  if (plan.context > 1) json["context"] = plan.context;
  json["schedule"] = schedule_json(plan.schedule);
  json["stages"] = Json::array();
  for (const Stage& stage : plan.stages) json["stages"].push_back(stage_json(stage));
  if (plan.predicted) json["predicted"] = prediction_json(*plan.predicted);
  json["search"] = {{"candidates", plan.search_candidates},
                    {"seconds", json_number(plan.search_seconds)},
                    {"complete", plan.search_complete}};
  for (const ScheduleAlternative& other : plan.schedules) {
    json["search"]["schedules"].push_back(schedule_alternative_json(other));
  }
  if (plan.rank_correlations)
    json["search"]["rank_correlations"] = correlations_json(*plan.rank_correlations);
  json["alternatives"] = Json::array();
  for (const Alternative& alternative : plan.alternatives) {
    json["alternatives"].push_back(alternative_json(alternative));
  }
  return format_json(json);
}

}  // namespace pptrain
