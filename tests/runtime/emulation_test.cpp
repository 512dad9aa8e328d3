// Emulated devices: rehearsals take what the simulator says, and their links are shared as its
// links are.
#include "base/error.hpp"
#include "comm/mpi.hpp"
#include "cost/instances.hpp"
#include "cost/transfer_forms.hpp"
#include "planners/judge/planned_orders.hpp"
#include "profile/from_files.hpp"
#include "reference.hpp"
#include "runtime/emulation/emulated_device.hpp"
#include "runtime/emulation/rehearsal.hpp"
#include "runtime/measure/profiler.hpp"
#include "simulate/simulate.hpp"
#include "small_gpt2.hpp"
#include "support/catch.hpp"
#include "support/simulated_time.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Ranks in simulated time are late by the naps between two looks for a message alone, a few
/// milliseconds of an iteration of half a second and more.
constexpr double tolerance = 0.01;

/// Two nodes of a quick and two of a slow device, with links on which a sample takes a few
/// milliseconds.
Cluster mixed_cluster() {
  Cluster cluster = nodes_of(1, 2, 1e9);
  cluster.groups.front().link = {1e9, 0.0};
  cluster.groups.front().uplink = {2e8, 1e-3};
  add_slow_node(cluster, 2, 1e9);
  return cluster;
}

/// Eight layers of about 12 ms per sample and 400 KB between them.
Profile mixed_profile() {
  Profile profile;
  profile.model = "rehearsed";
  for (int l = 0; l < 8; ++l) {
    profile.layers.push_back(layer(fmt::format("{}", l), 0.004, 0.004, 0.004 + 0.0005 * l));
    profile.layers.back().parameters = 1e6;
    profile.layers.back().output_bytes = 4e5;
    profile.layers.back().stored_bytes = 8e5;
    profile.layers.back().tensor_parallel_allreduce_bytes = 1e5;
  }
  add_kind(profile, "t", 2.0);
  add_degree(profile, 2);
  return profile;
}

/// What an iteration gave.
struct Rehearsed {
  IterationResult result;
  Trace trace;
  std::size_t peak_bytes = 0;
};

Rehearsed rehearsed(const Instance& instance, const Plan& plan) {
  Waiter waiter(600.0, CoreUse::shared);
  const RankMap map = RankMap::identity(4);
  Rehearsal rehearsal(MPI_COMM_WORLD, instance, plan, map, waiter);
  Rehearsed found;
  SimulatedTime time(MPI_COMM_WORLD);
  const SimulatedTime::Section section(time);
  rehearsal.run(nullptr);
  found.result = rehearsal.run(&found.trace);
  found.peak_bytes = rehearsal.peak_bytes();
  return found;
}

std::vector<std::string> tasks_of(const Trace& trace, DeviceId device) {
  std::vector<std::string> tasks;
  for (const TraceEvent& event : trace) {
    if (event.device == device && is_task(event.instruction.op))
      tasks.push_back(to_string(event.instruction));
  }
  return tasks;
}

/// The rehearsal of a plan beside its simulation.
void check(const Plan& plan) {
  const Profile profile = mixed_profile();
  const Cluster cluster = mixed_cluster();
  const Instance instance = {profile, cluster, plan.global_batch_size};
  const Simulation expected =
      simulate(instance, plan, planned_programs(instance, plan), {Recording::events});
  const Rehearsed found = rehearsed(instance, plan);
  const int rank = rank_in(MPI_COMM_WORLD);
  INFO(plan.shape() << " " << plan.schedule.name << ": simulated " << expected.makespan_seconds
                    << " s, rehearsed " << found.result.seconds << " s");
  CHECK(found.result.seconds == Approx(expected.makespan_seconds).epsilon(tolerance));
  CHECK(found.result.seconds >= 0.999 * expected.makespan_seconds);  // nothing is quicker than it
                                                                     // is due
  for (const SimulatedDevice& device : expected.devices) {
    if (device.device != DeviceId(rank)) continue;
    CHECK(static_cast<double>(found.peak_bytes) == Approx(device.peak_bytes));
    CHECK(found.result.peak_stored == device.peak_stored);
    // What a plan predicts that its devices compute is what a rehearsal says that they did.
    CHECK(found.result.compute_seconds() == Approx(device.busy_seconds));
    CHECK(tasks_of(found.trace, device.device) == tasks_of(expected.trace, device.device));
  }
}

Plan grid(int pipeline, int data, int tensor, const ScheduleChoice& schedule = {"1f1b", 1, 0}) {
  return uniform_plan(even_division(8, pipeline * schedule.virtual_stages), data, tensor, 8 * data,
                      data, schedule);
}

}  // namespace

TEST_CASE("a rehearsal takes the simulated time, memory and order", "[np4][timed]") {
  SECTION("a pipeline over both kinds") { check(grid(4, 1, 1)); }
  SECTION("replicas that all-reduce, pairs that share an uplink") { check(grid(2, 2, 1)); }
  SECTION("replicas of two nodes that all-reduce within them first") { check(grid(1, 4, 1)); }
  SECTION("tensor-parallel groups") { check(grid(2, 1, 2)); }
  SECTION("members of two nodes whose sums share the uplinks") {
    Plan plan = grid(1, 2, 2);
    check(plan);
    for (const int zero_stage : {1, 3}) {
      plan.stages[0].zero_stage = zero_stage;
      check(plan);
    }
  }
  SECTION("tensor-parallel groups over two nodes that share the uplinks") {
    Plan plan = grid(1, 2, 2);
    plan.stages[0].devices = {{DeviceId(0), DeviceId(2)}, {DeviceId(1), DeviceId(3)}};
    check(plan);
  }
  SECTION("the order of its own times") { check(grid(4, 1, 1, {"auto", 1, 0})); }
  SECTION("chunks whose weights ZeRO gathers") {
    Plan plan = grid(2, 2, 1, {"interleaved-1f1b", 2, 0});
    for (Stage& stage : plan.stages) stage.zero_stage = 3;
    check(plan);
  }
  SECTION("layers whose weights ZeRO gathers, or that come from the step before") {
    for (const int zero_stage : {1, 3}) {
      Plan plan = grid(1, 4, 1);
      plan.stages[0].zero_stage = zero_stage;
      check(plan);
      plan.stages[0].zero_groups = {{0, 2}, {2, 4}};
      check(plan);
      plan.stages[0].zero_groups = {};
      plan.stages[0].zero_slices = {{0, 3}, {3, 6}, {6, 7}, {7, 8}};
      check(plan);
    }
  }
  SECTION("stages of different shape, uneven samples, a device left out") {
    Plan plan = uniform_plan({{0, 5}, {5, 8}}, 1, 1, 24, 3, "1f1b");
    plan.stages[0].replicas = 2;
    plan.stages[0].devices = {{DeviceId(0)}, {DeviceId(1)}};
    plan.stages[0].samples = {{0, 2}, {2, 3}};
    plan.stages[1].devices = {{DeviceId(3)}};
    check(plan);
  }
}

TEST_CASE(
    "bytes of several senders share an uplink, and one who says late what it sent still has its "
    "share",
    "[np4]") {
  Cluster cluster = nodes_of(2, 2);  // links of 1000 B/s and 0.5 s, uplinks of 100 B/s and 1 s
  SharedLog log(MPI_COMM_WORLD);
  LinkReplay to_two(cluster, log, DeviceId(2));
  LinkReplay to_three(cluster, log, DeviceId(3));
  if (rank_in(MPI_COMM_WORLD) == 0) log.append({10.0, 100.0, 0, 2});
  MPI_Barrier(MPI_COMM_WORLD);
  // Alone: one second on the uplink, one of latency.
  CHECK_FALSE(to_two.arrived(0, 10.01));
  CHECK_FALSE(to_two.arrived(0, 11.99));
  if (rank_in(MPI_COMM_WORLD) == 1) log.append({11.985, 100.0, 1, 3});
  if (rank_in(MPI_COMM_WORLD) == 2) {
    while (log.size() < 2) {
    }
    log.append({11.99, 50.0, 3, 2});  // inside the node
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(to_two.arrived(0, 12.0) == Approx(12.0));
  CHECK_FALSE(to_two.arrived(2, 12.53));
  CHECK(to_two.arrived(2, 12.55) == Approx(11.99 + 0.05 + 0.5));
  CHECK(to_three.arrived(1, 14.0) == Approx(11.985 + 2.0));
}

TEST_CASE("two that send at once over one uplink need twice the time", "[np4]") {
  Cluster cluster = nodes_of(2, 2);
  SharedLog log(MPI_COMM_WORLD);
  LinkReplay links(cluster, log, DeviceId(2));
  LinkReplay others(cluster, log, DeviceId(3));
  if (rank_in(MPI_COMM_WORLD) == 0) {
    log.append({10.0, 100.0, 0, 2});
    log.append({10.0, 150.0, 1, 3});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(links.arrived(0, 20.0) == Approx(13.0));   // 50 B/s each for 2 s
  CHECK(others.arrived(1, 20.0) == Approx(13.5));  // then the last 50 B alone
}

TEST_CASE("the end of a log of shared memory waits for nobody", "[np4]") {
  auto log = std::make_unique<SharedLog>(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  if (rank == 0) log.reset();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) log->append({1.0, 1.0, rank, 0});
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) CHECK(log->size() == 3);
}

TEST_CASE("a log of shared memory keeps the last entries of all ranks", "[np4]") {
  SharedLog log(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  constexpr int each = 10'000;
  for (int i = 0; i < each; ++i) {
    log.append({static_cast<double>(i), 1.0, rank, 0});
    if (i % 2'000 == 0) MPI_Barrier(MPI_COMM_WORLD);  // nobody falls behind by all that it holds
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(log.size() == 4 * each);
  CHECK_FALSE(log.read(0));
  CHECK_FALSE(log.read(log.size()));
  double last[4] = {-1.0, -1.0, -1.0, -1.0};
  for (std::uint64_t n = log.oldest(); n < log.size(); ++n) {
    const std::optional<SentBytes> entry = log.read(n);
    REQUIRE(entry);
    CHECK(entry->begin > last[entry->from]);
    last[entry->from] = entry->begin;
  }
}

TEST_CASE("an emulated device has no more memory than the file says", "[np4]") {
  CountedMemory memory(1000.0, "device 3 (t4)");
  memory.take(600.0);
  memory.give_back(200.0);
  memory.take(500.0);
  CHECK(memory.peak_bytes() == 900);
  try {
    memory.take(200.0);
    FAIL("it took more than there is");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::runtime_failure);
    CHECK(std::string(error.what())
              .find("device 3 (t4): out of device memory: 200 B asked for with 900 B in use") == 0);
  }
}

namespace {

/// The model's own sizes, with times that are long beside what this machine takes.
Profile slow_profile(const Config& config, const Model& model) {
  Profile profile = layer_sizes(config, model);
  for (ProfileLayer& l : profile.layers)
    l.rows.push_back({"v", 1, 1.0, {0.006, 0.006, 0.006}, true});
  add_kind(profile, "t", 1.5);
  add_degree(profile, 2);
  return profile;
}

/// Links on which the activations of a sample (512 bytes) take milliseconds.
Cluster slow_links(double memory) {
  Cluster cluster = nodes_of(1, 2, memory);
  cluster.groups.front().link = {1e6, 0.0};
  cluster.groups.front().uplink = {2e5, 1e-3};
  add_slow_node(cluster, 2, memory);
  return cluster;
}

struct Trained {
  std::vector<double> losses;
  double seconds = 0.0;  ///< of the last step on the slowest rank
};

Trained trained(const Config& config, const Plan& plan, const Instance* emulated) {
  const Model model = build_model(config.model, config.training, "test");
  const RankMap map = RankMap::identity(4);
  Waiter waiter(600.0, CoreUse::shared);
  SessionOptions options;
  options.nodes = {0, 0, 1, 1};
  std::unique_ptr<EmulatedDevice> device;
  if (emulated != nullptr) {
    device = std::make_unique<EmulatedDevice>(MPI_COMM_WORLD, *emulated, plan, map, waiter);
    device->apply_to(options);
    options.forms = cheapest_forms(*emulated, plan);
    options.orders = planned_order_options(*emulated, plan);
  }
  Session session(MPI_COMM_WORLD, config, model, plan, map, options);
  for (const auto& part : session.device()->parts()) fill_random(part->parameters(), 1);
  Trained found;
  SimulatedTime time(MPI_COMM_WORLD);
  for (std::int64_t step = 0; step < config.training.steps; ++step) {
    IterationResult result;
    {
      const SimulatedTime::Section section(time);
      result = session.train(step, [&](std::int64_t sample, const SampleSlot& slot) {
        for (int t = 0; t < 8; ++t) {
          const std::int64_t token = (7 * step + 3 * sample + t) % 32;
          if (slot.tokens != nullptr) slot.tokens[t] = static_cast<std::uint32_t>(token);
          if (slot.targets != nullptr)
            slot.targets[t] = static_cast<std::int32_t>((token + 1) % 32);
        }
      });
    }
    found.losses.push_back(result.loss);
    MPI_Allreduce(&result.seconds, &found.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  return found;
}

void check_numbers(const Plan& plan, GradientPrecision gradients = GradientPrecision::fp32,
                   double largest_error = tolerance) {
  Config config = test::small_gpt2(16, 16);
  config.training.gradient_precision = gradients;
  Profile profile = slow_profile(config, build_model(config.model, config.training, "test"));
  count_gradients(profile, gradients);
  const Cluster cluster = slow_links(1e9);
  const Instance instance = {profile, cluster, plan.global_batch_size};
  const Simulation expected = simulate(instance, plan, planned_programs(instance, plan));
  const Trained found = trained(config, plan, &instance);
  INFO(plan.shape() << ": simulated " << expected.makespan_seconds << " s, emulated "
                    << found.seconds << " s");
  CHECK(found.seconds == Approx(expected.makespan_seconds).epsilon(largest_error));
  CHECK(found.losses == trained(config, plan, nullptr).losses);
}

}  // namespace

TEST_CASE("emulated devices train with the same numbers in the simulated time", "[np4][timed]") {
  SECTION("a pipeline") { check_numbers(uniform_plan(even_division(8, 4), 1, 1, 16, 1, "1f1b")); }
  SECTION("replicas") { check_numbers(uniform_plan(even_division(8, 2), 2, 1, 16, 2, "1f1b")); }
  SECTION("replicas of two nodes") { check_numbers(uniform_plan({{0, 8}}, 4, 1, 16, 4, "1f1b")); }
  SECTION("replicas of two nodes whose gradients travel in bf16") {
    check_numbers(uniform_plan({{0, 8}}, 4, 1, 16, 4, "1f1b"), GradientPrecision::bf16);
  }
  SECTION("tensor-parallel groups") {
    check_numbers(uniform_plan(even_division(8, 2), 1, 2, 16, 2, "gpipe"));
  }
  SECTION("members of two nodes whose sums share the uplinks") {
    // Both members sum the norms and biases, which are a part of so small a model; the simulator
    // divides all parameters.
    check_numbers(uniform_plan({{0, 8}}, 2, 2, 16, 2, "1f1b"), GradientPrecision::fp32, 0.02);
  }
  SECTION("weights that are gathered for every micro-batch") {
    Plan plan = uniform_plan({{0, 8}}, 4, 1, 16, 4, "1f1b");
    plan.stages[0].zero_stage = 3;
    // The session gathers layer by layer, which hides more than the simulator says of a whole
    // chunk.
    check_numbers(plan, GradientPrecision::fp32, 0.07);
    plan.stages[0].zero_slices = {{0, 9}, {9, 10}, {10, 11}, {11, 12}};
    check_numbers(plan, GradientPrecision::fp32, 0.07);
  }
  SECTION("layers of a stage divided differently") {
    Plan plan = uniform_plan(even_division(8, 2), 2, 1, 16, 2, "1f1b");
    plan.stages[0].blocks = {{{1, 3}, 1, 2, TensorPattern::megatron, {{0, 2}}, {}}};
    plan.stages[1].blocks = {{{7, 8}, 1, 2, TensorPattern::megatron, {{0, 2}}, {}}};
    check_numbers(plan);
  }
}

namespace {

/// A recorded run on emulated devices whose layers take next to no time.
void check_reference(const std::string& run, const Plan& plan) {
  const Reference reference(run);
  INFO(run << " " << write_plan(plan));
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  Profile profile = layer_sizes(reference.config, model);
  for (ProfileLayer& l : profile.layers) l.rows.push_back({"v", 1, 1.0, {1e-5, 1e-5, 1e-5}, true});
  add_kind(profile, "t", 1.5);
  for (const int degree : {2, 4}) add_degree(profile, degree);
  Cluster cluster = nodes_of(1, 2, 1e9);
  cluster.groups.front().link = cluster.groups.front().uplink = {1e10, 1e-6};
  add_slow_node(cluster, 2, 1e9);
  const Instance instance = {profile, cluster, plan.global_batch_size,
                             ties_of(reference.config, profile)};
  const RankMap map = RankMap::identity(4);
  Waiter waiter(600.0, CoreUse::shared);
  EmulatedDevice device(MPI_COMM_WORLD, instance, plan, map, waiter);
  SessionOptions options;
  device.apply_to(options);
  options.forms = cheapest_forms(instance, plan);
  check_curve(train_reference(MPI_COMM_WORLD, reference, plan,
                              static_cast<int>(reference.config.training.steps), options),
              reference);
}

}  // namespace

TEST_CASE("emulated devices with ZeRO-3 and with blocks meet the reference runs", "[np4]") {
  const Reference reference("tied");
  SECTION("ZeRO-3 layer by layer") {
    Plan plan = reference.plan(1, 4, 1, 4, "1f1b");
    plan.stages[0].zero_stage = 3;
    check_reference("tied", plan);
    plan.stages[0].zero_groups = {{0, 1}, {1, 4}};
    check_reference("untied", plan);
  }
  SECTION("ZeRO-3 chunk by chunk, with recomputation") {
    Plan plan = reference.plan(2, 2, 1, 2, "zb-v", 2);
    for (Stage& stage : plan.stages) {
      stage.zero_stage = 3;
      stage.recompute = Recompute::full;
    }
    check_reference("tied", plan);
  }
  SECTION("published models, whose members share key heads") {
    for (const char* folder : {"llama", "gemma", "gpt2-hf", "mixtral"}) {
      const Reference published(folder);
      check_reference(folder, published.plan(2, 1, 2, 2, "1f1b"));
      check_reference(folder, published.plan(1, 2, 2, 4, "gpipe"));
    }
  }
  SECTION("blocks, with every ZeRO stage") {
    Plan plan = reference.plan(1, 4, 1, 4, "1f1b");
    plan.stages[0].blocks = {{{1, 3}, 2, 2, TensorPattern::megatron, {{0, 1}, {1, 4}}, {}},
                             {{5, 6}, 1, 4, TensorPattern::sp1, {{0, 4}}, {}}};
    for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) {
      plan.stages[0].zero_stage = zero_stage;
      check_reference("tied", plan);
    }
  }
}

TEST_CASE("an emulated device that is too small ends the job", "[np4]") {
  const Config config = test::small_gpt2(16, 16);
  const Plan plan = uniform_plan(even_division(8, 4), 1, 1, 16, 1, "1f1b");
  const Profile profile = slow_profile(config, build_model(config.model, config.training, "test"));
  const Cluster cluster = slow_links(10e3);  // less than the parameters of a stage
  const Instance instance = {profile, cluster, plan.global_batch_size};
  const int rank = rank_in(MPI_COMM_WORLD);
  const auto told = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::runtime_failure);
      return error.what();
    }
    return "nothing";
  };
  const std::string trains = told([&] { trained(config, plan, &instance); });
  CHECK(trains.find(fmt::format("rank {}, device {} ({}): out of device memory", rank, rank,
                                rank < 2 ? "v" : "t")) == 0);
  Waiter waiter(600.0, CoreUse::shared);
  const RankMap map = RankMap::identity(4);
  const std::string rehearses =
      told([&] { Rehearsal(MPI_COMM_WORLD, instance, plan, map, waiter); });
  CHECK(rehearses.find("rank 0, device 0 (v): out of device memory") == 0);
}
