// `alpa` against brute force over its space.

#include <cmath>

#include "planners/reference/alpa_space.hpp"
#include "planners/reference/check_predicted.hpp"
#include "planners/reference/choices.hpp"
#include "planners/reference/run_planner.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

/// Some degrees, the schedule or the micro-batch size, of those that the instance allows.
Restrictions random_restrictions(Choices& choices, const RandomInstance& instance) {
  Restrictions fixed;
  if (choices.one_in(3)) fixed.schedule = "gpipe";
  const std::vector<int> parts = {1, 1, 2, 3};
  if (choices.one_in(6)) fixed.pipeline = choices.of(parts);
  if (choices.one_in(6)) fixed.data = choices.of(parts);
  if (choices.one_in(6)) fixed.tensor = choices.of(parts);
  if (choices.one_in(8) && instance.global_batch_size % 2 == 0) fixed.micro_batch_size = 2;
  return fixed;
}

/// Rows at every degree, and layers of two sorts: those with far more parameters, and those with
/// far more to all-reduce in a tensor-parallel group.
void favour_blocks(RandomInstance& instance, Choices& choices) {
  for (ProfileLayer& layer : instance.profile.layers) {
    const bool large = choices.one_in(2);
    layer.parameters *= large ? 20.0 : 0.3;
    layer.tensor_parallel_allreduce_bytes *= large ? 0.0 : 5.0;
    layer.output_bytes *= 0.1;
    std::erase_if(layer.rows, [](const ProfileRow& row) { return row.tensor_parallel > 1; });
    const std::vector<ProfileRow> whole = layer.rows;
    for (int degree = 2; degree <= instance.cluster.num_devices(); ++degree) {
      for (ProfileRow row : whole) {
        const double scale = choices.real(0.9, 1.4) / degree;
        row.tensor_parallel = degree;
        row.seconds = {scale * row.seconds.forward, scale * row.seconds.backward_input,
                       scale * row.seconds.backward_weight};
        layer.rows.push_back(row);
      }
    }
  }
  for (DeviceKind& kind : instance.cluster.device_kinds) kind.memory *= choices.real(2.0, 15.0);
  instance.cluster.finish("random");
}

TEST_CASE("alpa finds the optimum of its space", "[alpa]") {
  int found = 0;
  int infeasible = 0;
  int with_blocks = 0;
  int with_stages = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const std::vector<InstanceSize> sizes = {
        {8, 3, {1, 2, 3, 4, 6}}, {6, 6, {2, 4, 6, 7}}, {7, 4, {2, 3, 4, 8, 9}}, {8, 6, {4, 6}}};
    RandomInstance instance = random_instance(seed, sizes[seed % 4]);
    Choices choices(seed);
    if (seed % 2 == 0) favour_blocks(instance, choices);
    const Restrictions fixed =
        seed % 4 < 2 ? Restrictions{} : random_restrictions(choices, instance);
    const Run run = run_planner("alpa", instance, fixed);
    if (run.ending == Ending::refused) continue;
    const AlpaOptimum best = alpa_optimum(instance, fixed);
    CAPTURE(run.message, best.num_plans);
    REQUIRE(run.plan.has_value() == best.seconds.has_value());
    ++(run.plan ? found : infeasible);
    if (!run.plan) continue;
    CAPTURE(write_plan(*run.plan));
    validate_plan(*run.plan, instance.profile.num_layers(), instance.cluster.num_devices(), "alpa");
    check_predicted(instance, *run.plan);
    REQUIRE(std::abs(run.plan->predicted->estimate_seconds - *best.seconds) <=
            1e-9 * *best.seconds);
    for (const Stage& stage : run.plan->stages) with_blocks += stage.blocks.empty() ? 0 : 1;
    with_stages += run.plan->num_stages() > 1 ? 1 : 0;
  }
  CHECK(found > 600);
  CHECK(infeasible > 20);
  CHECK(with_blocks > 50);
  CHECK(with_stages > 50);
}

}  // namespace
}  // namespace pptrain::reference
