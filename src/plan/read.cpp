#include <fmt/format.h>

#include <string_view>

#include "base/names.hpp"
#include "plan/keys.hpp"
#include "plan/patterns.hpp"
#include "plan/plan.hpp"
#include "plan/validate.hpp"
#include "profile/json.hpp"

namespace pptrain {
namespace {

constexpr std::string_view schema = "pptrain.plan/1";

Interval read_interval(const JsonNode& node) {
  const std::vector<JsonNode> ends = node.elements();
  if (ends.size() != 2)
    node.refuse("is not an interval", "an interval is [begin, end]", "give two numbers");
  return {ends[0].integer(), ends[1].integer()};
}

std::vector<Interval> read_intervals(const JsonNode& node) {
  std::vector<Interval> intervals;
  for (const JsonNode& element : node.elements()) intervals.push_back(read_interval(element));
  return intervals;
}

std::map<std::string, std::vector<Interval>> read_shards(const JsonNode& node) {
  std::map<std::string, std::vector<Interval>> shards;
  for (const std::string& axis : node.keys()) shards[axis] = read_intervals(node.at(axis));
  return shards;
}

std::vector<std::vector<DeviceId>> read_devices(const JsonNode& node) {
  std::vector<std::vector<DeviceId>> devices;
  for (const JsonNode& row : node.elements()) {
    devices.emplace_back();
    for (const JsonNode& device : row.elements())
      devices.back().emplace_back(device.small_integer_at_least(0));
  }
  return devices;
}

/// The index of the name, of `names`, that the node holds.
std::size_t read_name(const JsonNode& node, const std::vector<std::string>& names) {
  const std::string found = node.string();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == found) return i;
  }
  node.refuse(fmt::format("unknown value \"{}\"", found), "known: " + join(names),
              did_you_mean(found, names, "write one of these"));
}

/// The value of the name that the node holds.
template <class Kind>
Kind read_kind(const JsonNode& node, const NameTable<Kind>& table) {
  return *table.find(table.names()[read_name(node, table.names())]);
}

Block read_block(const JsonNode& node) {
  node.allow_keys(plan_keys::block);
  Block block;
  block.layers = read_interval(node.at("layers"));
  block.replicas = node.at("replicas").small_integer_at_least(1);
  block.tensor_parallel = node.at("tensor_parallel").small_integer_at_least(1);
  block.pattern = read_kind(node.at("pattern"), pattern_names());
  block.samples = read_intervals(node.at("samples"));
  if (node.has("shards")) block.shards = read_shards(node.at("shards"));
  return block;
}

Stage read_stage(const JsonNode& node) {
  node.allow_keys(plan_keys::stage);
  Stage stage;
  stage.layers = read_intervals(node.at("layers"));
  stage.replicas = node.at("replicas").small_integer_at_least(1);
  stage.tensor_parallel = node.at("tensor_parallel").small_integer_at_least(1);
  stage.devices = read_devices(node.at("devices"));
  stage.samples = read_intervals(node.at("samples"));
  if (node.has("shards")) stage.shards = read_shards(node.at("shards"));
  if (node.has("recompute")) stage.recompute = read_kind(node.at("recompute"), recompute_names());
  if (node.has("zero_stage")) stage.zero_stage = node.at("zero_stage").small_integer_at_least(0);
  if (node.has("zero_groups")) stage.zero_groups = read_intervals(node.at("zero_groups"));
  if (node.has("zero_slices")) stage.zero_slices = read_intervals(node.at("zero_slices"));
  if (node.has("offload")) stage.offload = node.at("offload").boolean();
  if (node.has("offload_activations"))
    stage.offload_activations = node.at("offload_activations").boolean();
  if (node.has("blocks")) {
    for (const JsonNode& element : node.at("blocks").elements())
      stage.blocks.push_back(read_block(element));
  }
  return stage;
}

ScheduleChoice read_schedule(const JsonNode& node) {
  node.allow_keys(plan_keys::schedule);
  ScheduleChoice schedule;
  schedule.name = node.at("name").string();
  if (node.has("virtual_stages"))
    schedule.virtual_stages = node.at("virtual_stages").small_integer_at_least(1);
  if (node.has("unit")) schedule.unit = node.at("unit").small_integer_at_least(0);
  return schedule;
}

TimeParts read_parts(const JsonNode& node) {
  node.allow_keys(plan_keys::parts);
  TimeParts parts;
  parts.compute = node.at("compute_seconds").number();
  parts.bubble = node.at("bubble_seconds").number();
  parts.pipeline_communication = node.at("pipeline_communication_seconds").number();
  parts.tensor_communication = node.at("tensor_communication_seconds").number();
  parts.parameter_gathers = node.at("parameter_gather_seconds").number();
  parts.gradient_synchronization = node.at("gradient_synchronization_seconds").number();
  return parts;
}

std::optional<double> optional_number(const JsonNode& node, const char* key) {
  return node.has(key) ? std::optional(node.at(key).number()) : std::nullopt;
}

SpeedPrediction read_speed(const JsonNode& node) {
  node.allow_keys(plan_keys::speed);
  SpeedPrediction speed;
  speed.samples_per_second = node.at("samples_per_second").number();
  speed.tokens_per_second = optional_number(node, "tokens_per_second");
  if (node.has("model_flops_from")) speed.flop_source = node.at("model_flops_from").string();
  speed.flop_per_second = optional_number(node, "flop_per_second");
  if (node.has("precision")) speed.precision = node.at("precision").string();
  speed.utilization = optional_number(node, "model_flops_utilization");
  speed.training_tokens = optional_number(node, "training_tokens");
  speed.training_seconds = optional_number(node, "training_seconds");
  return speed;
}

KindPrediction read_kind_prediction(const JsonNode& node) {
  node.allow_keys(plan_keys::kind_prediction);
  KindPrediction kind;
  kind.kind = node.at("kind").string();
  kind.devices = node.at("devices").small_integer_at_least(1);
  kind.used = node.at("used").small_integer_at_least(0);
  kind.memory_bytes = node.at("memory_bytes").number();
  kind.reserve_bytes = node.at("reserve_bytes").number();
  kind.computing = optional_number(node, "computing");
  kind.waiting = optional_number(node, "waiting");
  kind.idle = optional_number(node, "idle");
  kind.flop_per_second = optional_number(node, "flop_per_second");
  kind.peak_flop_per_second = optional_number(node, "peak_flop_per_second");
  kind.utilization = optional_number(node, "model_flops_utilization");
  return kind;
}

ErrorBand read_error_band(const JsonNode& node) {
  node.allow_keys(plan_keys::error_band);
  return {node.at("relative").number_at_least(0.0), node.at("runs").small_integer_at_least(1),
          node.at("of").string()};
}

FailurePrediction read_failures(const JsonNode& node) {
  node.allow_keys(plan_keys::failures);
  return {node.at("mtbf_seconds").number(),    node.at("checkpoint_seconds").number(),
          node.at("restart_seconds").number(), node.at("interval_seconds").number(),
          node.at("interval_steps").integer(), node.at("goodput").number()};
}

CostPrediction read_cost(const JsonNode& node) {
  node.allow_keys(plan_keys::cost);
  CostPrediction cost;
  cost.nodes = node.at("nodes").small_integer_at_least(0);
  cost.objective = read_kind(node.at("objective"), objective_names());
  if (node.has("currency")) cost.currency = node.at("currency").string();
  cost.money_per_hour = optional_number(node, "money_per_hour");
  cost.egress_per_step = optional_number(node, "egress_per_step").value_or(0.0);
  cost.money_per_step = optional_number(node, "money_per_step");
  cost.money_per_billion_tokens = optional_number(node, "money_per_billion_tokens");
  cost.watts = optional_number(node, "watts");
  if (node.has("training")) {
    const JsonNode training = node.at("training");
    training.allow_keys(plan_keys::training);
    cost.training = {training.at("tokens").number(), training.at("seconds").number(),
                     training.at("node_hours").number(), optional_number(training, "money"),
                     optional_number(training, "kilowatt_hours")};
  }
  return cost;
}

Prediction read_prediction(const JsonNode& node) {
  node.allow_keys(plan_keys::predicted);
  Prediction prediction;
  if (node.has("basis") && node.at("basis").string() == "simulation")
    prediction.basis = PredictionBasis::simulation;
  prediction.iteration_seconds = node.at("iteration_seconds").number();
  prediction.estimate_seconds = node.at("estimate_seconds").number();
  prediction.lower_bound_seconds = node.at("lower_bound_seconds").number();
  prediction.bubble_fraction = node.at("bubble_fraction").number();
  const JsonNode estimates = node.at("estimates");
  for (const std::string& name : estimates.keys())
    prediction.estimates[name] = estimates.at(name).number();
  for (const JsonNode& bytes : node.at("peak_bytes").elements())
    prediction.peak_bytes.push_back(bytes.number());
  if (node.has("parts")) prediction.parts = read_parts(node.at("parts"));
  if (node.has("stage_seconds")) {
    for (const JsonNode& t : node.at("stage_seconds").elements())
      prediction.stage_seconds.push_back(t.number());
  }
  if (node.has("error_band")) prediction.error_band = read_error_band(node.at("error_band"));
  if (node.has("like")) prediction.like = node.at("like").string();
  if (node.has("speed")) prediction.speed = read_speed(node.at("speed"));
  if (node.has("kinds")) {
    for (const JsonNode& kind : node.at("kinds").elements())
      prediction.kinds.push_back(read_kind_prediction(kind));
  }
  if (node.has("cost")) prediction.cost = read_cost(node.at("cost"));
  if (node.has("failures")) prediction.failures = read_failures(node.at("failures"));
  return prediction;
}

Alternative read_alternative(const JsonNode& node) {
  node.allow_keys(plan_keys::alternative);
  Alternative alternative;
  alternative.planner = node.at("planner").string();
  const JsonNode seconds = node.at("iteration_seconds");
  if (!seconds.is_null()) alternative.iteration_seconds = seconds.number();
  alternative.feasible = node.at("feasible").boolean();
  alternative.why_not = node.at("why_not").string();
  if (node.has("measured_seconds"))
    alternative.measured_seconds = node.at("measured_seconds").number();
  return alternative;
}

RankCorrelations read_rank_correlations(const JsonNode& node) {
  node.allow_keys(plan_keys::rank_correlations);
  RankCorrelations correlations;
  correlations.num_plans = node.at("plans").small_integer_at_least(0);
  for (const std::string& form : node.at("forms").keys())
    correlations.forms[form] = node.at("forms").at(form).number();
  return correlations;
}

ScheduleAlternative read_schedule_alternative(const JsonNode& node) {
  node.allow_keys(plan_keys::schedule_alternative);
  ScheduleAlternative other;
  other.schedule = read_schedule(node.at("schedule"));
  const JsonNode seconds = node.at("iteration_seconds");
  if (!seconds.is_null()) other.iteration_seconds = seconds.number();
  other.why_not = node.at("why_not").string();
  return other;
}

std::vector<KindRun> read_device_kinds(const JsonNode& node) {
  std::vector<KindRun> runs;
  for (const JsonNode& element : node.elements()) {
    element.allow_keys(plan_keys::device_kind);
    runs.push_back({element.at("kind").string(), element.at("count").small_integer_at_least(1)});
  }
  return runs;
}

/// What a planner added for the reader; nothing is decided by it.
void read_commentary(const JsonNode& root, Plan& plan) {
  if (root.has("predicted") && !root.at("predicted").is_null())
    plan.predicted = read_prediction(root.at("predicted"));
  if (root.has("search")) {
    const JsonNode search = root.at("search");
    search.allow_keys(plan_keys::search);
    plan.search_candidates = search.at("candidates").integer_at_least(0);
    plan.search_seconds = search.at("seconds").number_at_least(0.0);
    if (search.has("complete")) plan.search_complete = search.at("complete").boolean();
    if (search.has("schedules")) {
      for (const JsonNode& node : search.at("schedules").elements()) {
        plan.schedules.push_back(read_schedule_alternative(node));
      }
    }
    if (search.has("rank_correlations")) {
      plan.rank_correlations = read_rank_correlations(search.at("rank_correlations"));
    }
  }
  if (root.has("alternatives")) {
    for (const JsonNode& node : root.at("alternatives").elements())
      plan.alternatives.push_back(read_alternative(node));
  }
}

}  // namespace

Plan parse_plan(const std::string& text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonNode root(document, source);
  if (const std::string found = root.at("schema").string(); found != schema) {
    root.at("schema").refuse(fmt::format("unknown schema \"{}\"", found), "",
                             fmt::format("this pptrain reads \"{}\"", schema));
  }
  root.allow_keys(plan_keys::root);
  Plan plan;
  if (root.has("planner")) plan.planner = root.at("planner").string();
  if (root.has("model")) plan.model = root.at("model").string();
  if (root.has("cluster")) plan.cluster = root.at("cluster").string();
  if (root.has("device_kinds")) plan.device_kinds = read_device_kinds(root.at("device_kinds"));
  if (root.has("context")) plan.context = root.at("context").small_integer_at_least(1);
  plan.global_batch_size = root.at("global_batch_size").small_integer_at_least(1);
  plan.micro_batch_size = root.at("micro_batch_size").small_integer_at_least(1);
  plan.micro_batches = root.at("micro_batches").small_integer_at_least(1);
  plan.schedule = read_schedule(root.at("schedule"));
  for (const JsonNode& node : root.at("stages").elements()) plan.stages.push_back(read_stage(node));
  read_commentary(root, plan);
  validate_plan_alone(plan, source);
  return plan;
}

Plan read_plan(const std::string& path) { return parse_plan(read_text_file(path), path); }

}  // namespace pptrain
