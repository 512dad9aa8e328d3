#include "plan/keys.hpp"

#include "plan/plan.hpp"
#include "support/complaint.hpp"
#include "support/key_tables.hpp"

namespace pptrain {
namespace {

const std::string everything = R"({
 "schema": "pptrain.plan/1", "planner": "p", "model": "m", "cluster": "c", "device_kinds": [{"kind": "d", "count": 2}],
 "global_batch_size": 4, "micro_batch_size": 2, "micro_batches": 2, "context": 2,
 "schedule": {"name": "1f1b", "virtual_stages": 1, "unit": 0},
 "stages": [{"layers": [[0, 3]], "replicas": 2, "tensor_parallel": 1, "devices": [[0], [1]],
   "samples": [[0, 1], [1, 2]], "shards": {}, "recompute": "none", "zero_stage": 0,
   "offload": false, "offload_activations": false,
   "blocks": [{"layers": [1, 2], "replicas": 1, "tensor_parallel": 2, "pattern": "sp1", "samples": [[0, 2]],
               "shards": {}}]}],
 "predicted": {"basis": "simulation", "iteration_seconds": 1, "estimate_seconds": 1, "estimates": {"amp": 1},
   "lower_bound_seconds": 1, "bubble_fraction": 0,
   "parts": {"compute_seconds": 1, "bubble_seconds": 0, "pipeline_communication_seconds": 0,
     "tensor_communication_seconds": 0, "parameter_gather_seconds": 0, "gradient_synchronization_seconds": 0},
   "stage_seconds": [1], "peak_bytes": [1, 1],
   "error_band": {"relative": 0.1, "runs": 3, "of": "A100"}, "like": "megatron",
   "speed": {"samples_per_second": 4, "tokens_per_second": 8, "model_flops_from": "layers", "flop_per_second": 1e9,
     "precision": "bf16", "model_flops_utilization": 0.5, "training_tokens": 1e9, "training_seconds": 1e8},
   "kinds": [{"kind": "d", "devices": 2, "used": 2, "memory_bytes": 10, "reserve_bytes": 1, "computing": 0.5,
     "waiting": 0.25, "idle": 0.25, "flop_per_second": 1e9, "peak_flop_per_second": 2e9,
     "model_flops_utilization": 0.5}],
   "cost": {"nodes": 1, "objective": "cost", "currency": "EUR", "money_per_hour": 10, "egress_per_step": 0.1,
     "money_per_step": 0.3, "money_per_billion_tokens": 100, "watts": 5000,
     "training": {"tokens": 1e9, "seconds": 1e8, "node_hours": 3e4, "money": 1e5, "kilowatt_hours": 1e4}},
   "failures": {"mtbf_seconds": 1e6, "checkpoint_seconds": 60, "restart_seconds": 120, "interval_seconds": 1e4,
     "interval_steps": 100, "goodput": 0.97}},
 "search": {"candidates": 1, "seconds": 1, "complete": true,
   "schedules": [{"schedule": {"name": "gpipe"}, "iteration_seconds": null, "why_not": "too large"}],
   "rank_correlations": {"plans": 1, "forms": {"amp": 1}}},
 "alternatives": [{"planner": "q", "iteration_seconds": 2, "feasible": true, "why_not": "", "measured_seconds": 2}]})";

TEST_CASE("keys of a plan are those that are described", "[keys]") {
  const Json document = parse_json(everything, "file");
  REQUIRE_NOTHROW(parse_plan(everything, "file"));
  const std::vector<std::pair<std::string, KeyTable>> places = {
      {"", plan_keys::root},
      {"/device_kinds/0", plan_keys::device_kind},
      {"/schedule", plan_keys::schedule},
      {"/stages/0", plan_keys::stage},
      {"/stages/0/blocks/0", plan_keys::block},
      {"/predicted", plan_keys::predicted},
      {"/predicted/error_band", plan_keys::error_band},
      {"/predicted/parts", plan_keys::parts},
      {"/predicted/speed", plan_keys::speed},
      {"/predicted/kinds/0", plan_keys::kind_prediction},
      {"/predicted/cost", plan_keys::cost},
      {"/predicted/cost/training", plan_keys::training},
      {"/predicted/failures", plan_keys::failures},
      {"/search", plan_keys::search},
      {"/search/schedules/0", plan_keys::schedule_alternative},
      {"/search/rank_correlations", plan_keys::rank_correlations},
      {"/alternatives/0", plan_keys::alternative}};
  for (const auto& [pointer, table] : places) {
    check_key_table(document, pointer, table, parse_plan,
                    {"zero_groups", "zero_slices"});  // or blocks
  }
  CHECK(plan_keys::all().size() == places.size());
  const Json written = parse_json(write_plan(parse_plan(everything, "file")), "written");
  for (const char* key : {"cost", "failures"})
    CHECK(written["predicted"][key] == document["predicted"][key]);
}

TEST_CASE("an objective that nobody knows is refused with the nearest one", "[plan][json]") {
  std::string text = everything;
  const std::string known = "\"objective\": \"cost\"";
  text.replace(text.find(known), known.size(), "\"objective\": \"costs\"");
  const std::string complaint = complaint_of([&] { parse_plan(text, "p.json"); });
  CHECK(complaint.starts_with("p.json: predicted.cost.objective: unknown value \"costs\""));
  CHECK(complaint.find("did you mean \"cost\"?") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
