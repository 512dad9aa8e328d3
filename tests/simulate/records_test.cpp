#include "schedule/records.hpp"

#include "cost/instances.hpp"
#include "program/check.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A layer per chunk whose outputs take no time but the latency of the cut.
Profile profile_of(const PipelineShape& shape) {
  Profile profile;
  for (int c = 0; c < shape.num_chunks(); ++c) {
    const TaskSeconds seconds = shape.seconds_of(c);
    profile.layers.push_back(layer(fmt::format("{}", c), seconds.forward, seconds.backward_input,
                                   seconds.backward_weight));
  }
  return profile;
}

Cluster cluster_of(const PipelineShape& shape) {
  Cluster cluster = nodes_of(1, shape.ranks);
  if (!shape.cuts.empty()) cluster.groups[0].link.latency = shape.cuts.front().forward.seconds;
  cluster.finish("made");
  return cluster;
}

Plan plan_of(const PipelineShape& shape) {
  Plan plan =
      uniform_plan(even_division(shape.ranks, shape.ranks), 1, 1, shape.micro_batches, 1, "1f1b");
  for (Stage& stage : plan.stages) stage.layers.clear();
  for (int c = 0; c < shape.num_chunks(); ++c) {
    plan.stages[static_cast<std::size_t>(shape.rank_of(c))].layers.push_back({c, c + 1});
  }
  return plan;
}

TEST_CASE("recorded schedules take what was recorded", "[simulate]") {
  REQUIRE(schedule_records().size() == 353);
  for (const ScheduleRecord& record : schedule_records()) {
    INFO(record.name);
    const Profile profile = profile_of(record.shape);
    const Cluster cluster = cluster_of(record.shape);
    const Plan plan = plan_of(record.shape);
    const Programs programs = compile_training(plan, record.orders, {});
    const Simulation simulation =
        simulate({profile, cluster, plan.global_batch_size}, plan, programs);
    CHECK(simulation.makespan_seconds == record.makespan);
    for (std::size_t r = 0; r < record.peaks.size(); ++r)
      CHECK(simulation.devices[r].peak_stored == record.peaks[r]);
  }
}

}  // namespace
}  // namespace pptrain
