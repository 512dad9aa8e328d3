// What planners return fits in the simulator, and a plan of theirs that fits there is found.

#include <algorithm>
#include <map>

#include "base/infinity.hpp"
#include "planners/gpt_on_four.hpp"
#include "planners/published/amp/uniform_search.hpp"
#include "planners/reference/choices.hpp"
#include "planners/reference/run_planner.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

constexpr double rounding = 1.0 + 1e-9;

/// The plan and all that are shown beside it fit.
void check_fits(const Instance& instance, const SearchResult& result) {
  if (result.plan) REQUIRE(simulated_use(instance, *result.plan) <= rounding);
  for (const Plan& other : result.others) REQUIRE(simulated_use(instance, other) <= rounding);
  if (!result.plan) REQUIRE_FALSE(result.why_not.empty());
}

TEST_CASE("no planner returns a GPT of 1.5 billion that does not fit 2 x 2 devices", "[fitting]") {
  int refused = 0;
  for (int gigabytes = 8; gigabytes <= 20; gigabytes += 2) {
    const Gpt gpt(gigabytes);
    const Instance instance = gpt.instance();
    const Restrictions restrictions = restrictions_of(gpt.config);
    // DAPPLE's planner knows 1F1B without tensor parallelism, with which nothing fits the smallest
    // devices.
    const bool fits_whole = gigabytes > 8;
    if (!fits_whole) {
      Restrictions whole_layers = restrictions;
      whole_layers.tensor = 1;
      whole_layers.schedule = "1f1b";
      CHECK_FALSE(search_plan("auto", instance, whole_layers, "gpt.toml").plan);
    }
    for (const auto& planner : planners()) {
      const std::string name = planner->name();
      if (name == "exhaustive") continue;  // too many plans
      CAPTURE(gigabytes, name);
      const Outcome outcome = by_forms(name, instance, restrictions);
      if (outcome.plan && simulated_use(instance, *outcome.plan) > 1.0) ++refused;
      const SearchResult result = search_plan(name, instance, restrictions, "gpt.toml");
      check_fits(instance, result);
      if (name == "auto" || name == "megatron") REQUIRE(result.plan);
      if (name == "dapple") REQUIRE(result.plan.has_value() == fits_whole);
      if (!result.plan) CHECK(result.why_not.find(" too much") != std::string::npos);
    }
  }
  CHECK(refused >= 5);
}

/// Every layer is given what it holds for a moment too, so that the simulator counts what ZeRO and
/// recomputation do.
void measure_bytes(RandomInstance& instance, Choices& choices) {
  for (ProfileLayer& layer : instance.profile.layers) {
    const double workspace = choices.real(0.0, 0.5) * layer.stored_bytes;
    for (ProfileRow& row : layer.rows) {
      row.bytes =
          LayerBytes{layer.stored_bytes * row.samples, 0.5 * layer.stored_bytes * row.samples,
                     workspace * row.samples, workspace * row.samples};
    }
  }
}

/// The memory of all devices in proportion, so that the best plan by the forms fits by them, and
/// often by them alone.
void tighten(RandomInstance& instance, const Restrictions& restrictions, Choices& choices) {
  const Outcome outcome = by_forms("amp", instance.view(), restrictions);
  if (!outcome.plan) return;
  const std::vector<double> need = memory_bytes(instance.view(), *outcome.plan);
  double use = 0.0;
  for (int d = 0; d < instance.cluster.num_devices(); ++d) {
    use = std::max(use, need[d] / instance.cluster.kind_of(DeviceId(d)).memory);
  }
  if (use <= 0.0) return;
  for (DeviceKind& kind : instance.cluster.device_kinds)
    kind.memory *= use * choices.real(1.0, 1.3);
}

Restrictions drawn_restrictions(const RandomInstance& instance, Choices& choices) {
  Restrictions restrictions;
  restrictions.recompute = choices.one_in(3) ? Recompute::none : Recompute::full;
  restrictions.zero_stage = choices.between(0, 3);
  if (choices.one_in(4)) restrictions.data = choices.between(1, instance.cluster.num_devices());
  if (choices.one_in(4)) restrictions.pipeline = choices.between(1, 3);
  if (choices.one_in(4))
    restrictions.micro_batch_size = choices.of(divisors(instance.global_batch_size));
  if (choices.one_in(6)) restrictions.schedule = "gpipe";
  if (choices.one_in(8)) restrictions.virtual_stages = 2;
  return restrictions;
}

/// The divisions of grids that a planner tries.
UniformCandidates tried_divisions(const std::string& planner, const SearchSpace& space) {
  if (planner == "amp") return amp_candidates(space, Breadth::everything);
  if (planner == "megatron") return megatron_candidates(space);
  if (planner == "data-parallel") return data_parallel_candidates(space);
  if (planner == "amp-uniform-layers") return ruled_candidates(space, DivisionRule::by_count);
  if (planner == "amp-uniform-parameters")
    return ruled_candidates(space, DivisionRule::by_parameters);
  return {};
}

/// The least that the planner minimises of its own candidates that fit in the simulator: every
/// division that it tries, and its best plan for each micro-batch size; Megatron's rules choose
/// other grids where the size is fixed.
double best_fitting_seconds(const std::string& planner, const Instance& instance,
                            const Restrictions& restrictions) {
  double best = infinity;
  const auto offer = [&](const Plan& plan) {
    if (simulated_use(instance, plan) <= 1.0)
      best = std::min(best, plan.predicted->estimate_seconds);
  };
  const SearchSpace space = {instance, restrictions, schedule_under(restrictions).name};
  for (const UniformCandidate& candidate : tried_divisions(planner, space).found) {
    offer(plan_of(space, candidate, planner));
  }
  for (const std::int64_t size : micro_batch_sizes(instance.global_batch_size, restrictions)) {
    Restrictions fixed = restrictions;
    fixed.micro_batch_size = size;
    const Outcome outcome = planner_called(planner).search({instance, fixed, space.schedule});
    if (outcome.plan && planner != "megatron") offer(*outcome.plan);
  }
  return best;
}

/// Random plans of one size are not those of all sizes, and no two annealings walk alike.
bool draws(const std::string& planner) { return planner == "random" || planner == "amp-sa"; }

/// What a planner does on one instance.
struct Found {
  bool refused = false;       ///< the forms alone would have returned a plan that does not fit
  double seconds = infinity;  ///< simulated iteration of the plan, where there is one
};

Found check_planner(const std::string& name, const Instance& instance,
                    const Restrictions& restrictions) {
  SearchResult result;
  Outcome outcome;
  try {
    result = search_plan(name, instance, restrictions, "test");
    if (schedule_under(restrictions).virtual_stages == 1)
      outcome = by_forms(name, instance, restrictions);
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::bad_input);
    return {};
  }
  check_fits(instance, result);
  Found found = {false, result.plan ? result.plan->predicted->iteration_seconds : infinity};
  if (!outcome.plan) return found;
  const double use = simulated_use(instance, *outcome.plan);
  found.refused = use > 1.0;
  if (name == "auto") return found;
  if (!found.refused) {
    REQUIRE(result.plan);
    REQUIRE(same_plan(*result.plan, *outcome.plan));
  } else if (!draws(name)) {
    const double best = best_fitting_seconds(name, instance, restrictions);
    if (result.plan) REQUIRE(result.plan->predicted->estimate_seconds <= best * rounding);
    if (!result.plan) REQUIRE(best == infinity);
  }
  return found;
}

TEST_CASE("what planners return fits, and of their candidates that fit the best is found",
          "[fitting]") {
  std::map<std::string, int> refused;
  for (int seed = 0; seed < 250; ++seed) {
    Choices choices(seed + 7000);
    RandomInstance instance = random_instance(seed, {6, 4, {2, 4, 6, 8}});
    measure_bytes(instance, choices);
    const Restrictions restrictions = drawn_restrictions(instance, choices);
    CAPTURE(seed);
    try {
      tighten(instance, restrictions, choices);
    } catch (const Error&) {
      continue;  // an instance that such restrictions leave no plan of
    }
    double best = infinity;  // that of auto, which comes first
    for (const auto& planner : planners()) {
      CAPTURE(planner->name());
      const Found found = check_planner(planner->name(), instance.view(), restrictions);
      if (planner->name() == "auto") best = found.seconds;
      REQUIRE(best <= found.seconds * rounding);
      if (found.refused) ++refused[planner->name()];
    }
  }
  for (const auto& planner : planners()) {
    CAPTURE(planner->name());
    CHECK(refused[planner->name()] > 20);
  }
}

}  // namespace
}  // namespace pptrain::reference
