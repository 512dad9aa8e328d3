// Instructions per second of the simulator: pipelines, and replicas that share
// uplinks.
#include <benchmark/benchmark.h>

#include "planners/judge/planned_orders.hpp"
#include "planners/large_instances.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"

namespace {

using namespace pptrain;

/// 1F1B of `stages` stages on nodes of 8 devices.
void simulate_pipeline(benchmark::State& state, int stages, int replicas, int micro_batches) {
  const Profile profile = blocks(stages, 0.5);
  const Cluster cluster = mixed_nodes(std::max(2, stages * replicas / 8), 8);
  const std::int64_t batch = static_cast<std::int64_t>(replicas) * micro_batches;
  const Plan plan =
      uniform_plan(even_division(stages, stages), replicas, 1, batch, replicas, "1f1b");
  const Instance instance = {profile, cluster, batch};
  const Programs programs = planned_programs(instance, plan);
  std::size_t instructions = 0;
  for (const Program& program : programs) instructions += program.instructions.size();
  for (auto _ : state) benchmark::DoNotOptimize(simulate(instance, plan, programs));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(instructions));
}

/// Generating and compiling, which comes before.
void compile_pipeline(benchmark::State& state, int stages, int micro_batches) {
  const Plan plan = uniform_plan(even_division(stages, stages), 1, 1, micro_batches, 1, "1f1b");
  for (auto _ : state) benchmark::DoNotOptimize(compile_training(plan, task_orders(plan), {}));
}

}  // namespace

BENCHMARK_CAPTURE(simulate_pipeline, stages_8_micro_batches_64, 8, 1, 64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_pipeline, stages_64_micro_batches_1024, 64, 1, 1024)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_pipeline, stages_16_replicas_8_micro_batches_128, 16, 8, 128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile_pipeline, stages_64_micro_batches_1024, 64, 1024)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
