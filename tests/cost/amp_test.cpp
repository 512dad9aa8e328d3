#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a flat ring takes 2(n-1)/n bytes over bandwidth and 2(n-1) latencies", "[cost]") {
  const Cluster cluster = nodes_of(2, 2);
  const std::vector<DeviceId> node = {DeviceId(0), DeviceId(1)};
  const std::vector<DeviceId> all = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)};
  CHECK(all_reduce_seconds(cluster, node, 600.0) == Approx(1.6));  // 2*1/2*600/1000 + 2*1*0.5
  CHECK(all_reduce_seconds(cluster, all, 600.0) == Approx(15.0));  // 2*3/4*600/100 + 2*3*1
  CHECK(all_reduce_seconds(cluster, {DeviceId(3)}, 600.0) == 0.0);
}

/// Four layers; layer 2 all-reduces, the cuts behind 0, 1 and 2 carry 10, 20 and 40 bytes per
/// sample.
Profile four_layers() {
  Profile profile;
  profile.layers = {layer("a", 1, 2, 3), layer("b", 2, 2, 2), layer("c", 3, 1, 1),
                    layer("d", 1, 1, 1)};
  profile.layers[0].parameters = 100;
  profile.layers[1].parameters = 50;
  profile.layers[2].parameters = 200;
  profile.layers[0].output_bytes = 10;
  profile.layers[1].output_bytes = 20;
  profile.layers[2].output_bytes = 40;
  profile.layers[2].tensor_parallel_allreduce_bytes = 100;
  add_degree(profile, 2);
  return profile;
}

TEST_CASE("AMP's terms of a pipeline with replicas", "[cost]") {
  const Profile profile = four_layers();
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 16};
  // Two samples per replica, 16 / 4 = 4 micro-batches; node 0 is stage 0, node 1 stage 1.
  const Plan plan = uniform_plan({{0, 2}, {2, 4}}, 2, 1, 16, 4, "1f1b");
  const AmpTerms terms = amp_terms(instance, plan);
  REQUIRE(terms.stage_seconds.size() == 2);
  CHECK(terms.stage_seconds[0] == Approx(24.0));  // 2 samples * (6 + 6)
  CHECK(terms.stage_seconds[1] == Approx(16.0));  // 2 * (5 + 3); no all-reduce at degree 1
  REQUIRE(terms.cut_seconds.size() == 1);
  CHECK(terms.cut_seconds[0] == Approx(2.8));       // 2 * (2 * 20 / 100 + 1)
  CHECK(terms.gradient_seconds[0] == Approx(1.6));  // 150 * 4 = 600 bytes inside a node
  CHECK(terms.gradient_seconds[1] == Approx(1.8));  // 200 * 4 = 800: 0.8 + 1
  CHECK(terms.iteration_seconds == Approx(116.6));  // 3 * 24 + 2.8 + 40 + 1.8
}

TEST_CASE("gradients in bf16 are half the bytes of every sum, and as many in memory", "[cost]") {
  Profile profile = four_layers();
  const Cluster cluster = nodes_of(2, 2);
  const Plan plan = uniform_plan({{0, 2}, {2, 4}}, 2, 1, 16, 4, "1f1b");
  const std::vector<double> held = predict({profile, cluster, 16}, plan).peak_bytes;
  profile.bytes_per_parameter.sent_gradient = 2.0;
  const Instance instance = {profile, cluster, 16};
  const AmpTerms terms = amp_terms(instance, plan);
  CHECK(terms.gradient_seconds[0] == Approx(1.3));  // 150 * 2 = 300 bytes: 0.3 + 1
  CHECK(terms.gradient_seconds[1] == Approx(1.4));  // 200 * 2 = 400: 0.4 + 1
  CHECK(predict(instance, plan).peak_bytes == held);
}

TEST_CASE("AMP's terms with tensor parallelism", "[cost]") {
  const Profile profile = four_layers();
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 16};
  SECTION("inside the nodes, two stages") {
    const Plan plan = uniform_plan({{0, 2}, {2, 4}}, 1, 2, 16, 2, "1f1b");
    const AmpTerms terms = amp_terms(instance, plan);
    CHECK(terms.stage_seconds[0] == Approx(12.0));  // 2 samples * (6 + 6) / 2
    // 2 * (5 + 3) / 2 = 8, and in F and B an all-reduce of 200 bytes: 2*1/2*200/1000 + 2*0.5 = 1.2
    // each
    CHECK(terms.stage_seconds[1] == Approx(10.4));
    CHECK(terms.cut_seconds[0] == Approx(2.8));  // the whole activation, not divided by n
    CHECK(terms.gradient_seconds[1] == 0.0);
    CHECK(terms.iteration_seconds == Approx(7 * 12.0 + 2.8 + 22.4));
  }
  SECTION("replicas across the nodes share the gradients of a shard") {
    const Plan plan = uniform_plan({{0, 4}}, 2, 2, 16, 2, "1f1b");
    const AmpTerms terms = amp_terms(instance, plan);
    CHECK(terms.stage_seconds[0] == Approx(12.2));    // 20 / 2, and 2 * (2*1/2*100/1000 + 2*0.5)
    CHECK(terms.gradient_seconds[0] == Approx(9.0));  // 350 * 4 / 2 = 700 bytes: 2*1/2*700/100 +
                                                      // 2*1
    CHECK(terms.iteration_seconds == Approx(7 * 12.2 + 12.2 + 9.0));
  }
}

TEST_CASE("the slowest kind in a tensor-parallel group and the slowest replica count", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 0, 0), layer("b", 1, 0, 0)};
  add_kind(profile, "t", 3.0);
  profile.layers[1].rows[1].seconds.forward = 0.5;  // layer b is faster on t
  add_degree(profile, 2);
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  const Instance instance = {profile, cluster, 4};
  // Members v and t: layer a max(0.5, 1.5), layer b max(0.5, 0.25), times 4 samples
  CHECK(amp_terms(instance, uniform_plan({{0, 2}}, 1, 2, 4, 4, "1f1b")).stage_seconds[0] ==
        Approx(8.0));
  // Replicas: v takes 2 * (1 + 1) = 4, t takes 2 * (3 + 0.5) = 7
  CHECK(amp_terms(instance, uniform_plan({{0, 2}}, 2, 1, 4, 4, "1f1b")).stage_seconds[0] ==
        Approx(7.0));
}

TEST_CASE("transfers follow overlapping samples, and all shards where the degrees differ",
          "[cost]") {
  const Profile profile = four_layers();
  const Cluster cluster = nodes_of(1, 8);
  const Instance instance = {profile, cluster, 6};
  Plan plan = uniform_plan({{0, 2}, {2, 4}}, 2, 2, 6, 6, "1f1b");
  SECTION("uneven samples: replica 0 sends 4 of its 5 samples to the replica with [0, 4)") {
    plan.stages[0].samples = {{0, 5}, {5, 6}};
    plan.stages[1].samples = {{0, 4}, {4, 6}};
    CHECK(amp_terms(instance, plan).cut_seconds[0] == Approx(1.16));  // 2 * (4 * 20 / 1000 + 0.5)
  }
  SECTION("one receiver takes the overlap from each sender") {
    plan.stages[1] = plan.stages[0];
    plan.stages[1].layers = {{2, 4}};
    plan.stages[1].replicas = plan.stages[1].tensor_parallel = 1;
    plan.stages[1].devices = {{DeviceId(4)}};
    plan.stages[1].samples = {{0, 6}};
    validate_plan(plan, 4, 8, "made");
    CHECK(amp_terms(instance, plan).cut_seconds[0] == Approx(1.12));  // 2 * (3 * 20 / 1000 + 0.5)
  }
}

TEST_CASE("full recomputation computes the forward pass once more", "[cost]") {
  const Profile profile = four_layers();
  const Cluster cluster = nodes_of(1, 1);
  const Instance instance = {profile, cluster, 2};
  Plan plan = uniform_plan({{0, 4}}, 1, 1, 2, 1, "1f1b");
  plan.stages[0].recompute = Recompute::full;
  CHECK(amp_terms(instance, plan).stage_seconds[0] == Approx(20.0 + 7.0));
}

}  // namespace
}  // namespace pptrain
