#include "simulate/simulate.hpp"

#include "cost/collective.hpp"
#include "cost/instances.hpp"
#include "cost/stage_time.hpp"
#include "program/check.hpp"
#include "schedule/schedule.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// `num` layers of F, B and W of 1 s per sample each.
Profile equal_layers(int num, double output_bytes = 0.0) {
  Profile profile;
  for (int l = 0; l < num; ++l) {
    profile.layers.push_back(layer("l" + std::to_string(l), 1, 1, 1));
    profile.layers.back().output_bytes = output_bytes;
  }
  return profile;
}

Cluster without_latency(int devices) {
  Cluster cluster = nodes_of(1, devices);
  cluster.groups[0].link.latency = 0.0;
  cluster.finish("made");
  return cluster;
}

Simulation simulated(const Instance& instance, const Plan& plan,
                     Recording recording = Recording::sums) {
  const Programs programs = compile_training(plan, task_orders(plan), {});
  check_programs(plan, programs);
  return simulate(instance, plan, programs, {recording});
}

void check_sums(const Simulation& simulation) {
  for (const SimulatedDevice& device : simulation.devices) {
    CHECK(device.busy_seconds + device.communication_seconds + device.idle_seconds ==
          Approx(simulation.makespan_seconds));
    CHECK(device.last_end_seconds <= simulation.makespan_seconds);
  }
}

TEST_CASE(
    "offloaded activations take the longer of passes and link, and leave a layer and a neighbour",
    "[simulate]") {
  Profile profile = equal_layers(3);
  for (ProfileLayer& l : profile.layers) l.stored_bytes = 100;
  Cluster cluster = without_latency(1);
  const Instance instance = {profile, cluster, 4};
  Plan plan = uniform_plan({{0, 3}}, 1, 1, 4, 1, "gpipe");
  plan.stages[0].offload_activations = true;
  CHECK(complaint_of([&] { simulated(instance, plan); }).find("no host_link") != std::string::npos);
  cluster.groups[0].host_link = {200.0, 0.25};
  // F 3 s and B 6 s beside 1.75 s each way.
  CHECK(simulated(instance, plan).makespan_seconds == 4 * 9.0);
  cluster.groups[0].host_link = {60.0, 0.5};
  const Simulation simulation = simulated(instance, plan);
  // 5.5 s each way beside F 3 s and B 6 s.
  CHECK(simulation.makespan_seconds == 4 * (5.5 + 6.0));
  CHECK(simulation.devices[0].busy_seconds == 4 * 9.0);
  check_sums(simulation);
  // Behind the last F: its last layer, the one before that is leaving, and the last one of the
  // first B, which comes.
  CHECK(simulation.devices[0].peak_bytes == 300.0);
  plan.stages[0].offload_activations = false;
  CHECK(simulated(instance, plan).devices[0].peak_bytes == 1200.0);
}

TEST_CASE("tasks on both sides of a cut between nodes wait for sends that block", "[simulate]") {
  const Cluster cluster = nodes_of(2, 2);
  const auto seconds = [&cluster](int stages, double bandwidth) {
    Profile profile = equal_layers(4, 100.0);
    profile.communication.blocking_bandwidth = bandwidth;
    const Plan plan = uniform_plan(even_division(4, stages), 1, 1, 1, 1, "1f1b");
    return simulated({profile, cluster, 1}, plan).makespan_seconds;
  };
  // The second of three cuts crosses, so that F and B of two stages take 2 s more each.
  CHECK(seconds(4, 50.0) == Approx(seconds(4, 0.0) + 4 * 2.0));
  CHECK(seconds(2, 50.0) == seconds(2, 0.0));  // on one node
}

TEST_CASE("without communication GPipe and 1F1B take (m + p - 1) micro-batches", "[simulate]") {
  for (const int p : {1, 2, 3, 5, 8}) {
    const Profile profile = equal_layers(p);
    const Cluster cluster = without_latency(p);
    for (const int m : {1, 2, 3, 8, 64}) {
      const Instance instance = {profile, cluster, m};
      for (const char* name : {"gpipe", "1f1b"}) {
        const Plan plan = uniform_plan(even_division(p, p), 1, 1, m, 1, name);
        const Simulation simulation = simulated(instance, plan);
        CHECK(simulation.makespan_seconds == 3.0 * (m + p - 1));
        for (int r = 0; r < p; ++r) {
          const SimulatedDevice& device = simulation.devices[r];
          CHECK(device.peak_stored == (std::string(name) == "gpipe" ? m : std::min(p - r, m)));
          CHECK(device.busy_seconds == 3.0 * m);
          CHECK(device.communication_seconds == 0.0);
          CHECK(device.first_start_seconds == r);
          CHECK(device.last_end_seconds == 3.0 * (m + p - 1) - 2.0 * r);
        }
        CHECK(simulation.bubble_fraction() == Approx((p - 1.0) / (m + p - 1)));
        check_sums(simulation);
      }
    }
  }
}

TEST_CASE("peak bytes are those of the memory model", "[simulate]") {
  Profile profile = equal_layers(4);
  profile.bytes_per_parameter = {2, 4, 8};
  profile.workspace_bytes = 100;
  for (int l = 0; l < 4; ++l) {
    profile.layers[l].parameters = 10 + l;
    profile.layers[l].stored_bytes = 7 + l;
  }
  const Cluster cluster = without_latency(8);
  const Instance instance = {profile, cluster, 12};
  for (const char* name : {"gpipe", "1f1b"}) {
    const Plan plan = uniform_plan(even_division(4, 4), 2, 1, 12, 2, name);
    const Simulation simulation = simulated(instance, plan);
    const std::vector<double> need = memory_bytes(instance, plan);
    for (const SimulatedDevice& device : simulation.devices)
      CHECK(device.peak_bytes == need[device.device.index()]);
  }
}

TEST_CASE("transfers over one link delay the next stage", "[simulate]") {
  // 3000 B take 3 s and arrive 0.5 s later; the second micro-batch's follow the first one's.
  const Profile profile = equal_layers(2, 3000);
  const Cluster cluster = nodes_of(1, 2);
  const Simulation simulation =
      simulated({profile, cluster, 2}, uniform_plan({{0, 1}, {1, 2}}, 1, 1, 2, 1, "gpipe"));
  // Stage 1: F 4.5-5.5 and 7.5-8.5, BW 8.5-10.5 and 10.5-12.5. Stage 0: BW 14-16 and 17-19.
  CHECK(simulation.makespan_seconds == 19.0);
  const SimulatedDevice& last = simulation.devices[1];
  CHECK(last.first_start_seconds == 4.5);
  CHECK(last.last_end_seconds == 12.5);
  CHECK(last.busy_seconds == 6.0);
  CHECK(last.communication_seconds == 3.5 + 2.0);  // 1-4.5, then 5.5-7.5
  const SimulatedDevice& first = simulation.devices[0];
  CHECK(first.communication_seconds == 3.5 + 1.0);  // 10.5-14, then 16-17
  check_sums(simulation);
}

TEST_CASE("two replicas on one node share its uplink", "[simulate]") {
  // 100 B at half of 100 B/s, 1 s of latency: 3 s each way. F 0-1, F 4-5, BW 5-7, BW 10-12.
  const Profile profile = equal_layers(2, 100);
  const Cluster cluster = nodes_of(2, 2);
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 2, 2, "1f1b");
  const Simulation simulation = simulated({profile, cluster, 2}, plan);
  CHECK(simulation.makespan_seconds == 12.0);
  check_sums(simulation);
}

TEST_CASE("between two and three replicas the common samples cross", "[simulate]") {
  const Profile profile = equal_layers(2, 500);
  const Cluster cluster = nodes_of(1, 5);
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 6, 6, "1f1b");
  plan.stages[0].replicas = 2;
  plan.stages[0].devices = {{DeviceId(0)}, {DeviceId(1)}};
  plan.stages[0].samples = {{0, 3}, {3, 6}};
  plan.stages[1].replicas = 3;
  plan.stages[1].devices = {{DeviceId(2)}, {DeviceId(3)}, {DeviceId(4)}};
  plan.stages[1].samples = {{0, 2}, {2, 4}, {4, 6}};
  const Simulation simulation = simulated({profile, cluster, 6}, plan);
  // F 0-3. Two samples arrive after 1.5 s, one after 1 s: F 4.5-6.5, 4-6, 4.5-6.5; BW until 10.5,
  // 10, 10.5.
  CHECK(simulation.devices[2].first_start_seconds == 4.5);
  CHECK(simulation.devices[3].first_start_seconds == 4.0);
  CHECK(simulation.devices[3].last_end_seconds == 10.0);
  // Gradients of two samples arrive at 12: BW 12-18.
  CHECK(simulation.makespan_seconds == 18.0);
  check_sums(simulation);
}

TEST_CASE("one stage takes what the amp estimate says", "[simulate]") {
  Profile profile = equal_layers(3);
  for (ProfileLayer& l : profile.layers) {
    l.parameters = 50;
    l.tensor_parallel_allreduce_bytes = 40;
  }
  add_degree(profile, 2);
  profile.layers[1].update_seconds[{"v", 2}] = 0.25;
  const Cluster cluster = nodes_of(4, 1);  // the two groups of replicas share no uplink
  const Instance instance = {profile, cluster, 12};
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    for (const int zero_stage : {0, 1, 2, 3}) {
      Plan plan = uniform_plan({{0, 3}}, 2, 2, 12, 4, "1f1b");
      plan.stages[0].recompute = recompute;
      plan.stages[0].zero_stage = zero_stage;
      const Simulation simulation = simulated(instance, plan);
      const StageParts parts(plan.stages[0]);
      // Sums are scattered: half an all-reduce, with stages 2 and 3 after every W, all but the last
      // beside tasks.
      const double sums = zero_stage == 0 ? 0.0 : gradient_seconds(instance, parts) / 2.0;
      // A layer's weights come in 1.5 s. With stage 3 the first one's are waited for, with stages 1
      // and 2 too, but they come as soon as they are updated, 0.125 s before the middle layer's. F
      // takes longer than the others' gathers.
      const double gathers = zero_stage == 0 ? 0.0 : zero_stage == 3 ? 1.5 : 1.5 - 0.125;
      const double without =
          iteration_seconds(instance, plan) - 2.0 * 3.0 * gather_seconds(instance, parts.all()[0]);
      CHECK(simulation.makespan_seconds == Approx(without - sums + gathers));
      check_sums(simulation);
    }
  }
  Plan plan = uniform_plan({{0, 3}}, 1, 1, 12, 4, "gpipe");
  CHECK(simulated(instance, plan).makespan_seconds ==
        Approx(amp_terms(instance, plan).iteration_seconds));
}

TEST_CASE("nodes sum gradients within, then between them", "[simulate]") {
  // 1000 B: an all-reduce within a node takes 2 s, between the nodes 1000 B at 100 B/s and twice 1
  // s.
  Profile profile = equal_layers(1);
  profile.bytes_per_parameter = {10, 10, 0};
  profile.layers[0].parameters = 100;
  const Cluster cluster = nodes_of(2, 2);
  Plan plan = uniform_plan({{0, 1}}, 4, 1, 4, 4, "1f1b");
  plan.stages[0].zero_groups = {{0, 2}, {2, 4}};
  for (const int zero_stage : {1, 2, 3}) {
    // Half an all-reduce in the node brings the weights before F, the other half scatters the sums.
    plan.stages[0].zero_stage = zero_stage;
    const Simulation simulation = simulated({profile, cluster, 4}, plan);
    CHECK(simulation.makespan_seconds == Approx(3.0 + 2.0 + 12.0));
    check_sums(simulation);
  }
  plan.stages[0].zero_groups = {};
  CHECK(simulated({profile, cluster, 4}, plan).makespan_seconds == Approx(3.0 + 15.0 + 6.0));
}

TEST_CASE("unequal slices take as long as if all were as large as the largest", "[simulate]") {
  // 1000 B, of which one of two devices has three quarters, take as long as 1500 B in halves.
  Profile profile = equal_layers(1);
  profile.bytes_per_parameter = {10, 10, 0};
  profile.layers[0].parameters = 100;
  const Cluster cluster = nodes_of(1, 2);
  Plan plan = uniform_plan({{0, 1}}, 2, 1, 2, 2, "1f1b");
  plan.stages[0].zero_stage = 3;
  const double equal = simulated({profile, cluster, 2}, plan).makespan_seconds;
  const double gather = all_gather_seconds(cluster.groups[0].link, 2, 1000.0);
  plan.stages[0].zero_slices = {{0, 3}, {3, 4}};
  const Simulation simulation = simulated({profile, cluster, 2}, plan);
  const double longer = all_gather_seconds(cluster.groups[0].link, 2, 1500.0) - gather;
  CHECK(simulation.makespan_seconds == Approx(equal + 2.0 * longer));  // the gather before F, and
                                                                       // the scattered sums
  CHECK(longer > 0.0);
  check_sums(simulation);
}

TEST_CASE("gradient sums of all shards and stages share the uplinks of their nodes", "[simulate]") {
  // A layer of 1000 B. Between two nodes 1000 B pass an uplink: 10 s at 100 B/s without latency.
  Profile profile = equal_layers(2);
  profile.bytes_per_parameter = {0, 10, 0};
  for (ProfileLayer& l : profile.layers) l.parameters = 100;
  add_degree(profile, 2);
  Cluster cluster = nodes_of(2, 2);
  cluster.groups[0].link = {1e12, 0.0};
  cluster.groups[0].uplink.latency = 0.0;
  cluster.finish("made");
  // Two members sum half of 2000 B each over the uplink that one would pass with all of it.
  const Plan shards = uniform_plan({{0, 2}}, 2, 2, 2, 2, "1f1b");
  CHECK(simulated({profile, cluster, 2}, shards).makespan_seconds == Approx(3.0 + 20.0));
  // A pipeline in each node: the last stage sums alone from 4 s to 6 s, 200 B. Then each has half
  // of the uplink: it has 800 B left and the first stage 1000 B, which end 16 s later and after the
  // other 200 B alone.
  Plan stages = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 2, 2, "1f1b");
  for (int s : {0, 1}) stages.stages[s].devices = {{DeviceId(s)}, {DeviceId(2 + s)}};
  CHECK(simulated({profile, cluster, 2}, stages).makespan_seconds == Approx(6.0 + 16.0 + 2.0));
}

TEST_CASE("replicas of several nodes sum gradients within the nodes first", "[simulate]") {
  Profile profile = equal_layers(1);
  profile.bytes_per_parameter = {0, 10, 0};
  profile.layers[0].parameters = 100;
  const Plan plan = uniform_plan({{0, 1}}, 4, 1, 4, 4, "1f1b");
  // Everyone with everyone, two replicas of a node send half of 1000 B each to the other node and
  // half of what they have summed: 2000 B over its uplink. In two levels each sends half of its own
  // 500 B, twice: 1000 B, 10 s at 100 B/s.
  Cluster cluster = nodes_of(2, 2);
  cluster.groups[0].link = {1e12, 0.0};
  cluster.groups[0].uplink.latency = 0.0;
  cluster.finish("made");
  CHECK(simulated({profile, cluster, 4}, plan).makespan_seconds == Approx(3.0 + 10.0));
  // Two members of a node: 1000 B at 1000 B/s and 2 x 0.5 s; between two nodes 10 s and 2 x 1 s.
  const Cluster slower = nodes_of(2, 2);
  CHECK(simulated({profile, slower, 4}, plan).makespan_seconds == Approx(3.0 + 2.0 + 12.0));
  Plan in_turns = plan;  // the replicas of a node need not be neighbours
  in_turns.stages[0].devices = {{DeviceId(0)}, {DeviceId(2)}, {DeviceId(1)}, {DeviceId(3)}};
  CHECK(simulated({profile, slower, 4}, in_turns).makespan_seconds == Approx(3.0 + 2.0 + 12.0));
  // Three members: 4/3 of 1000 B and 4 x 0.5 s. The fourth, alone on its node, has all slices.
  Cluster uneven = nodes_of(1, 3);
  NodeGroup alone = uneven.groups.front();
  alone.num_devices = 1;
  uneven.groups.push_back(alone);
  uneven.finish("made");
  CHECK(simulated({profile, uneven, 4}, plan).makespan_seconds ==
        Approx(3.0 + 4.0 / 3.0 + 2.0 + 12.0));
  // In four buckets, of which one is between the nodes while another is within: 12 s and a quarter
  // of 2 s.
  Profile buckets = profile;
  buckets.layers[0].parameters = 4 << 20;
  buckets.bytes_per_parameter.gradient = 1000.0 / (4 << 20);
  CHECK(simulated({buckets, slower, 4}, plan).makespan_seconds == Approx(3.0 + 12.0 + 0.5));
  // One member on each node: the flat ring, 6/4 of 1000 B at 100 B/s and 6 x 1 s.
  CHECK(simulated({profile, nodes_of(4, 1), 4}, plan).makespan_seconds == Approx(3.0 + 15.0 + 6.0));
}

TEST_CASE("the weights of a layer come beside the layer before", "[simulate]") {
  // Two layers of 1 s F and 2 s BW; weights of 500 B come in 1 s, of 1500 B in 2 s.
  Profile profile = equal_layers(2);
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  const auto simulated_with = [&](double bytes, const char* schedule) {
    profile.bytes_per_parameter = {bytes, 0, 0};
    for (ProfileLayer& l : profile.layers) l.parameters = 100;
    Plan plan = uniform_plan({{0, 2}}, 2, 1, 4, 2, schedule);
    plan.stages[0].zero_stage = 3;
    return simulated(instance, plan);
  };
  // F 1-3, BW 3-7: the last layer is there, the first comes 3-4. F 7-9, BW 9-13.
  CHECK(simulated_with(10, "1f1b").makespan_seconds == Approx(13.0));
  // The next F's first layer comes 2-3, the next BW's last 7-8.
  CHECK(simulated_with(10, "gpipe").makespan_seconds == Approx(13.0));
  // First layer 0-2, second 2-4: F 2-3, 4-5. First again 4-6: F 6-7, 8-9. BW 9-11, 11-13, 13-15,
  // 15-17.
  const Simulation slow = simulated_with(30, "gpipe");
  CHECK(slow.makespan_seconds == Approx(17.0));
  CHECK(slow.devices[0].communication_seconds == Approx(2.0 + 1.0 + 1.0 + 1.0));
}

TEST_CASE("weights come from the step before beside the first F", "[simulate]") {
  // Layers of 500 B come in 1 s each as soon as they are updated, which takes each 0.5 s on half of
  // the parameters.
  Profile profile = equal_layers(2);
  profile.bytes_per_parameter = {10, 0, 0};
  for (ProfileLayer& l : profile.layers) {
    l.parameters = 100;
    l.update_seconds[{"v", 1}] = 1.0;
  }
  const Cluster cluster = nodes_of(1, 2);
  Plan plan = uniform_plan({{0, 2}}, 2, 1, 2, 2, "1f1b");
  plan.stages[0].zero_stage = 1;
  // Updated at -0.5 and 0, there at 0.5 and 1.5: F 0.5-1.5, 1.5-2.5, BW until 6.5, a step of 1 s.
  CHECK(simulated({profile, cluster, 2}, plan).makespan_seconds == Approx(7.5));
}

TEST_CASE("the layer in work counts where it is recomputed or divided over replicas",
          "[simulate]") {
  Profile profile = equal_layers(3, 5);
  profile.bytes_per_parameter = {2, 4, 8};
  for (int l = 0; l < 3; ++l) {
    profile.layers[l].parameters = 10 * (l + 1);
    profile.layers[l].stored_bytes = 100 * (l + 1);
  }
  const Instance instance = {profile, nodes_of(1, 2), 8};
  const auto peak = [&](Recompute recompute, int zero_stage) {
    Plan plan = uniform_plan({{0, 3}}, 2, 1, 8, 4, "1f1b");
    plan.stages[0].recompute = recompute;
    plan.stages[0].zero_stage = zero_stage;
    return simulated(instance, plan).devices[0].peak_bytes;
  };
  CHECK(peak(Recompute::none, 0) == 60 * 14 + 2 * 600);
  // Two samples of inputs of 5 B, and of the last layer 300 B - 5 B more.
  CHECK(peak(Recompute::full, 0) == 60 * 14 + 2 * 10 + 2 * 295);
  CHECK(peak(Recompute::none, 1) == 60 * (2 + 4 + 4) + 2 * 600);
  CHECK(peak(Recompute::none, 2) == 60 * (2 + 2 + 4) + 2 * 600 + 2 * 30 * 4);
  CHECK(peak(Recompute::none, 3) == 60 * (1 + 2 + 4) + 2 * 600 + 2 * 30 * 4 + 30 * 2);
}

TEST_CASE("weights of chunks are gathered beside the tasks of others", "[simulate]") {
  // Two layers of 100 parameters and 10 B each, over two replicas: 500 B at 1000 B/s and 0.5 s, 1 s
  // a gather.
  Profile profile = equal_layers(2);
  profile.bytes_per_parameter = {10, 0, 0};
  for (ProfileLayer& l : profile.layers) l.parameters = 100;
  const Instance instance = {profile, nodes_of(1, 2), 2};
  Plan plan = uniform_plan({{0, 2}}, 2, 1, 2, 2, "breadth-first");
  plan.schedule.virtual_stages = 2;
  plan.stages[0].layers = {{0, 1}, {1, 2}};
  plan.stages[0].zero_stage = 3;
  const Simulation simulation = simulated(instance, plan);
  // Chunk 0 until 1, chunk 1 until 2. F0 1-2, F1 2-3, BW1 3-5; chunk 0 again 2-3; BW0 5-7.
  CHECK(simulation.makespan_seconds == Approx(7.0));
  // Own slices of 500 B each, and beside them both chunks whole while F0 runs, then chunk 1 and 0
  // again.
  for (const SimulatedDevice& device : simulation.devices) {
    CHECK(device.peak_bytes == Approx(3000.0));
    CHECK(device.communication_seconds == Approx(1.0));
  }
}

TEST_CASE("members of a tensor-parallel group wait for the slowest", "[simulate]") {
  Profile profile = equal_layers(2);
  add_kind(profile, "t", 3.0);
  add_degree(profile, 2);
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  const Plan plan = uniform_plan({{0, 2}}, 1, 2, 1, 1, "1f1b");
  const Simulation simulation = simulated({profile, cluster, 1}, plan);
  CHECK(simulation.makespan_seconds == 9.0);
  CHECK(simulation.devices[0].busy_seconds == 3.0);
  CHECK(simulation.devices[0].idle_seconds == 6.0);
  CHECK(simulation.devices[1].busy_seconds == 9.0);
}

TEST_CASE("activations are held until the end of W", "[simulate]") {
  Profile profile = equal_layers(1);
  const Cluster cluster = without_latency(1);
  const Instance instance = {profile, cluster, 2};
  const Plan plan = uniform_plan({{0, 1}}, 1, 1, 2, 1, "1f1b");
  const auto task = [](TaskKind kind, int m) { return Task{kind, ChunkId(0), MicroBatchId(m)}; };
  const TaskOrder order = {task(TaskKind::forward, 0),        task(TaskKind::backward_input, 0),
                           task(TaskKind::forward, 1),        task(TaskKind::backward_weight, 0),
                           task(TaskKind::backward_input, 1), task(TaskKind::backward_weight, 1)};
  const Programs programs = compile_training(plan, {order}, {});
  const Simulation simulation = simulate(instance, plan, programs, {Recording::events});
  CHECK(simulation.makespan_seconds == 6.0);
  CHECK(simulation.devices[0].peak_stored == 2);
  REQUIRE(simulation.trace.size() == 6);
  for (int i = 0; i < 6; ++i) CHECK(simulation.trace[i].begin == i);
  profile.layers[0].rows[0].split_known = false;
  CHECK_THAT(complaint_of([&] { simulate(instance, plan, programs); }),
             Catch::Contains("one time for the whole backward"));
}

TEST_CASE("the optimizer steps when all have agreed on the norm", "[simulate]") {
  Profile profile = equal_layers(2);
  profile.layers[0].update_seconds[{"v", 1}] = 5.0;
  profile.layers[1].update_seconds[{"v", 1}] = 2.0;
  const Cluster cluster = without_latency(2);
  const Simulation simulation =
      simulated({profile, cluster, 4}, uniform_plan({{0, 1}, {1, 2}}, 1, 1, 4, 1, "1f1b"));
  CHECK(simulation.makespan_seconds == 15.0 + 5.0);
  CHECK(simulation.devices[1].last_end_seconds == 15.0 + 2.0);
}

TEST_CASE("a chunk that hands over to one divided differently exchanges samples behind its task",
          "[simulate]") {
  const Profile profile = equal_layers(2, 100.0);
  const Cluster cluster = nodes_of(1, 2);  // links of 1000 B/s and 0.5 s
  const Instance instance = {profile, cluster, 4};
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 4, 4, ScheduleChoice{"interleaved-1f1b", 2, 0});
  CHECK(simulated(instance, plan).makespan_seconds == Approx(2.0 * 2.0 * 3.0));
  // Device 1 lacks a sample in F, device 0 in B; then device 1 computes three of the four.
  plan.stages[0].blocks = {{{1, 2}, 2, 1, TensorPattern::replicate, {{0, 1}, {1, 4}}, {}}};
  CHECK(simulated(instance, plan).makespan_seconds ==
        Approx(2.0 * 3.0 + 3.0 * 3.0 + 2.0 * (0.1 + 0.5)));
}

}  // namespace
}  // namespace pptrain
