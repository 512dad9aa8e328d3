// Prediction meets execution: with layers that only wait, an iteration takes as long as the
// simulator says, stores as many activations, and runs in the same order, for every schedule. Time
// is simulated; benchmarks/execution.py asks for the machine's.
#include "comm/mpi.hpp"
#include "cost/instances.hpp"
#include "planners/judge/planned_orders.hpp"
#include "program/trace.hpp"
#include "runtime/execute/agreement.hpp"
#include "runtime/execute/session.hpp"
#include "simulate/prices.hpp"
#include "simulate/simulate.hpp"
#include "small_gpt2.hpp"
#include "support/catch.hpp"
#include "support/simulated_time.hpp"
#include "support/waiting_layer.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Ranks look for messages between naps, which at most 11 messages of an iteration's longest path
/// come late by: 0.5 ms of the 700 and more that an iteration takes. By the machine's clock they
/// are also woken late.
constexpr double tolerance_simulated = 0.01;
constexpr double tolerance_measured = 0.05;

struct Case {
  ScheduleChoice schedule;
  int pipeline = 4;
  int data = 1;
  std::int64_t micro_batches = 8;
};

std::string to_string(const Case& c) {
  return fmt::format("{} V {} U {}, pp {} x dp {}, {} micro-batches", c.schedule.name,
                     c.schedule.virtual_stages, c.schedule.unit, c.pipeline, c.data,
                     c.micro_batches);
}

/// The embedding and the output layer are quicker than blocks, so that stages are unequal.
const LayerSeconds block_seconds = {0.016, 0.015, 0.013};
const LayerSeconds end_seconds = {0.010, 0.010, 0.008};

Profile waiting_profile(int num_layers) {
  Profile profile;
  profile.model = "waits";
  for (int l = 0; l < num_layers; ++l) {
    const LayerSeconds& s = l == 0 || l + 1 == num_layers ? end_seconds : block_seconds;
    profile.layers.push_back(
        layer(fmt::format("{}", l), s.forward, s.backward_input, s.backward_weight));
  }
  return profile;
}

Plan plan_of(const Case& c) {
  return uniform_plan(even_division(8, c.pipeline * c.schedule.virtual_stages), c.data, 1,
                      c.micro_batches * c.data, c.data, c.schedule);
}

/// Links so fast that only layers take time.
Cluster quick_cluster(int devices) {
  Cluster cluster = nodes_of(1, devices);
  cluster.groups.front().link = {1e12, 0.0};
  cluster.finish("made");
  return cluster;
}

/// A plan with what it is predicted on.
struct Job {
  explicit Job(const Plan& planned)
      : plan(planned),
        profile(waiting_profile(8)),
        cluster(quick_cluster(plan.num_devices())),
        instance{profile, cluster, plan.global_batch_size} {}

  Plan plan;
  Profile profile;
  Cluster cluster;
  Instance instance;
};

Simulation simulated(const Job& job) {
  return simulate(job.instance, job.plan, planned_programs(job.instance, job.plan),
                  {Recording::events});
}

/// Names of the tasks of a device in the order of a trace.
std::vector<std::string> tasks_of(const Trace& trace, DeviceId device) {
  std::vector<std::string> tasks;
  for (const TraceEvent& event : trace) {
    if (event.device == device && is_task(event.instruction.op))
      tasks.push_back(pptrain::to_string(event.instruction));
  }
  return tasks;
}

struct Measured {
  double seconds = 0.0;  ///< of the slowest rank
  double tolerance = 0.0;
  IterationResult result;
  Trace trace;
};

Measured measured(const Case& c, const Job& job) {
  const Config config = test::small_gpt2(8, c.micro_batches * c.data);
  const Model model = build_model(config.model, config.training, "test");
  Waiter waiter(600.0, CoreUse::shared);
  SessionOptions options;
  options.orders = agreed_order_options(MPI_COMM_WORLD, waiter, job.instance, job.plan);
  CHECK(options.orders == planned_order_options(job.instance, job.plan));
  options.layers = [&](const Layer& layer, ChunkId chunk, LayerContext& context) {
    const bool is_end = layer.reads_samples() || layer.computes_loss();
    return std::make_unique<WaitingLayer>(make_layer(layer, chunk, context), layer, context,
                                          is_end ? end_seconds : block_seconds);
  };
  Session session(MPI_COMM_WORLD, config, model, job.plan,
                  RankMap::identity(job.plan.num_devices()), options);
  const SampleSource no_samples = [](std::int64_t, const SampleSlot&) {};
  Measured measured;
  SimulatedTime time(MPI_COMM_WORLD);
  measured.tolerance = time.is_simulated() ? tolerance_simulated : tolerance_measured;
  if (!time.is_simulated()) session.train(0, no_samples);  // touches everything once
  session.record(&measured.trace);
  {
    const SimulatedTime::Section section(time);
    measured.result = session.train(1, no_samples);
  }
  MPI_Allreduce(&measured.result.seconds, &measured.seconds, 1, MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  return measured;
}

void check(const Case& c) {
  const Job job(plan_of(c));
  const Simulation expected = simulated(job);
  const Measured found = measured(c, job);
  const int rank = rank_in(MPI_COMM_WORLD);
  INFO(to_string(c) << ": simulated " << expected.makespan_seconds << " s, measured "
                    << found.seconds << " s, stored " << expected.devices[rank].peak_stored);
  CHECK(found.seconds == Approx(expected.makespan_seconds).epsilon(found.tolerance));
  CHECK(found.result.peak_stored == expected.devices[rank].peak_stored);
  CHECK(tasks_of(found.trace, DeviceId(rank)) == tasks_of(expected.trace, DeviceId(rank)));
}

}  // namespace

TEST_CASE("every schedule takes the simulated time, memory and order on four ranks",
          "[np4][timed]") {
  check({{"gpipe", 1, 0}});
  check({{"1f1b", 1, 0}});
  check({{"dapple-b", 1, 0}});
  check({{"interleaved-1f1b", 2, 0}});
  check({{"breadth-first", 2, 0}});
  check({{"zb-h1", 1, 0}});
  check({{"zb-h2", 1, 0}});
  check({{"zb-v", 2, 0}});
  check({{"zeropp", 2, 4}});
  check({{"auto", 1, 0}});
  check({{"auto", 2, 0}});
}

TEST_CASE("replicas and deep pipelines take the simulated time on eight ranks", "[np8]") {
  check({{"1f1b", 1, 0}, 8, 1, 8});
  check({{"zb-h2", 1, 0}, 8, 1, 8});
  check({{"interleaved-1f1b", 2, 0}, 4, 2, 6});
  check({{"zeropp", 4, 2}, 2, 4, 4});
}
