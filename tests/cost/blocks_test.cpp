// Stages whose layers are divided differently: patterns, re-partition, gradients, memory.
#include "cost/instances.hpp"
#include "cost/stage_time.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Features a and b, a large classifier c.
Profile classifier() {
  Profile profile;
  profile.layers = {layer("a", 1, 2, 3), layer("b", 2, 2, 2), layer("c", 4, 4, 4)};
  const double figures[3][3] = {{100, 10, 7}, {50, 20, 11}, {200, 1000, 13}};
  for (int l = 0; l < 3; ++l) {
    profile.layers[l].parameters = figures[l][0];
    profile.layers[l].output_bytes = figures[l][1];
    profile.layers[l].stored_bytes = figures[l][2];
  }
  add_degree(profile, 2);
  add_degree(profile, 4);
  return profile;
}

/// Whale's hybrid: features replicated four times, the classifier split over the same devices.
Plan hybrid(TensorPattern pattern) {
  Plan plan = uniform_plan({{0, 3}}, 4, 1, 8, 4, "1f1b");
  plan.stages[0].blocks = {{{2, 3}, 1, 4, pattern, {{0, 4}}, {}}};
  return plan;
}

TEST_CASE("a replicated stage with a split layer, by both of Whale's patterns", "[cost]") {
  const Profile profile = classifier();
  const Cluster cluster = nodes_of(1, 4);  // links of 1000 B/s and 0.5 s
  const Instance instance = {profile, cluster, 8};
  SECTION("sp1: the input gradients are summed") {
    const Plan plan = hybrid(TensorPattern::sp1);
    validate_plan(plan, 3, 4, "made");
    const AmpTerms terms = amp_terms(instance, plan);
    // One sample of a and b: 12. Four of c at degree 4: 12. Before c each device lacks 3 samples of
    // 20 bytes in F: 0.06 + 0.5; in B it has all. Input gradients: 2*3/4 * 80/1000 + 6 * 0.5
    // = 3.12.
    CHECK(terms.stage_seconds[0] == Approx(12.0 + 12.0 + 0.56 + 3.12));
    CHECK(terms.stages[0].tensor == Approx(0.56 + 3.12));
    CHECK(terms.stages[0].forward == Approx(3.0 + 4.0 + 0.56));
    CHECK(terms.stages[0].backward == Approx(9.0 + 8.0 + 3.12));
    // a and b: 600 bytes over four replicas, 0.9 + 3; c has one replica.
    CHECK(terms.gradient_seconds[0] == Approx(3.9));
    CHECK(terms.iteration_seconds == Approx(2 * 27.68 + 3.9));
    // 16 bytes * (150 + 200 / 4), one micro-batch in flight: one sample of a and b, four of c
    CHECK(memory_bytes(instance, plan) == std::vector<double>(4, 3200 + 18 + 4 * 13));
  }
  SECTION("sp2: the outputs are summed, the input gradients gathered") {
    // 2*3/4 * 4000/1000 + 3 = 9; 3/4 * 80/1000 + 1.5 = 1.56. Whale 5.1.4: sp1 has the lower cost.
    CHECK(amp_terms(instance, hybrid(TensorPattern::sp2)).stage_seconds[0] ==
          Approx(24.0 + 0.56 + 9.0 + 1.56));
  }
  SECTION("megatron: what the profile says") {
    Profile reduced = profile;
    reduced.layers[2].tensor_parallel_allreduce_bytes = 100;
    // 400 bytes in F and in B: 0.6 + 3 each
    CHECK(amp_terms({reduced, cluster, 8}, hybrid(TensorPattern::megatron)).stage_seconds[0] ==
          Approx(24.56 + 2 * 3.6));
  }
  SECTION("one stage reduces its gradients while the backward pass goes on") {
    // Backward: c 8 + 3.12, b 4 until 15.12, a 5 until 20.12. b's 200 bytes: 0.3 + 3 until 18.42;
    // a's 400: 0.6 + 3 from 20.12, 3.6 left.
    const Plan plan = hybrid(TensorPattern::sp1);
    CHECK(gradient_seconds_left(instance, StageParts(plan.stages[0])) == Approx(3.6));
    CHECK(dapple_seconds(instance, plan) == Approx(2 * 27.68 + 3.6));
  }
}

TEST_CASE("a split layer amid others gathers its outputs, and hands them on by samples", "[cost]") {
  const Profile profile = classifier();
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 8};
  Plan plan = hybrid(TensorPattern::sp1);
  plan.stages[0].blocks[0].layers = {1, 2};
  // b at degree 4: 6. a and c for one sample: 6 + 12. In front of b 3 samples of 10 bytes in F,
  // behind it 3 of 20 in B. Outputs of b: 3/4 * 80/1000 + 1.5; gradients of its inputs: 2*3/4 *
  // 40/1000 + 3.
  const AmpTerms terms = amp_terms(instance, plan);
  CHECK(terms.stage_seconds[0] == Approx(24.0 + 0.53 + 0.56 + 1.56 + 3.06));
  CHECK(terms.gradient_seconds[0] == Approx(0.6 + 3.0 + 1.2 + 3.0));  // a and c are not neighbours:
                                                                      // one each
}

TEST_CASE("uneven divisions may lack samples in both directions", "[cost]") {
  const Profile profile = classifier();
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  Plan plan = uniform_plan({{0, 3}}, 2, 1, 4, 4, "1f1b");
  plan.stages[0].samples = {{0, 3}, {3, 4}};
  plan.stages[0].blocks = {{{1, 3}, 2, 1, TensorPattern::replicate, {{0, 1}, {1, 4}}, {}}};
  // a: 3 samples * 6; b and c: 3 * (6 + 12). Device 1 lacks [1, 3) in F, device 0 lacks it in B:
  // 0.02 + 0.5 each.
  CHECK(amp_terms(instance, plan).stage_seconds[0] == Approx(18.0 + 54.0 + 2 * 0.52));
}

TEST_CASE("a cut is between the divisions of the layers beside it", "[cost]") {
  const Profile profile = classifier();
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 4};
  Plan plan = uniform_plan({{0, 2}, {2, 3}}, 2, 1, 4, 4, "1f1b");
  CHECK(amp_terms(instance, plan).cut_seconds[0] == Approx(2 * (2 * 20.0 / 1000 + 0.5)));
  plan.stages[0].blocks = {{{1, 2}, 1, 2, TensorPattern::megatron, {{0, 4}}, {}}};
  plan.stages[1].blocks = {{{2, 3}, 1, 2, TensorPattern::megatron, {{0, 4}}, {}}};
  CHECK(amp_terms(instance, plan).cut_seconds[0] == Approx(2 * (4 * 20.0 / 1000 + 0.5)));
  // DAPPLE's line: F of the stages 2 + 4 + 0.52 and 8, B 10 + 8 and 16; the cut 0.58 each way; M =
  // 1; a's gradients 0.4 + 1 after everything. a's outputs: 2 samples of 10 bytes are missing in F.
  CHECK(dapple_seconds(instance, plan) ==
        Approx(6.0 + 0.52 + 0.58 + 8.0 + 16.0 + 0.58 + 18.0 + 1.4));
}

TEST_CASE("blocks that divide alike are one part, whatever the stage calls them", "[cost]") {
  const Profile profile = classifier();
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 8};
  Plan plan = uniform_plan({{0, 3}}, 2, 2, 8, 4, "1f1b");
  const AmpTerms whole = amp_terms(instance, plan);
  plan.stages[0].blocks = {{{1, 2}, 2, 2, TensorPattern::megatron, {{0, 2}, {2, 4}}, {}}};
  CHECK(StageParts(plan.stages[0]).all().size() == 1);
  // Other dimensions divide the stage alike: 4 x 1 with all layers in a block of 2 x 2.
  Plan inverted = uniform_plan({{0, 3}}, 4, 1, 8, 4, "1f1b");
  inverted.stages[0].blocks = {{{0, 3}, 2, 2, TensorPattern::megatron, {{0, 2}, {2, 4}}, {}}};
  for (const Plan& other : {plan, inverted}) {
    CHECK(amp_terms(instance, other).iteration_seconds == whole.iteration_seconds);
    CHECK(memory_bytes(instance, other) == memory_bytes(instance, plan));
    CHECK(device_work_seconds(instance, other) == device_work_seconds(instance, plan));
    CHECK(dapple_seconds(instance, other) == dapple_seconds(instance, plan));
  }
}

TEST_CASE("work and copies of a node that shares cores count every part", "[cost]") {
  const Profile profile = classifier();
  Cluster cluster = nodes_of(1, 4);
  cluster.groups[0].cores = 1;
  cluster.finish("made");
  const Instance instance = {profile, cluster, 8};
  const Plan plan = hybrid(TensorPattern::sp1);
  CHECK(device_work_seconds(instance, plan) == std::vector<double>(4, 2 * 24.0));
  // Per device: gradients 2*3/4 * 600 = 900 bytes in 6 messages; per micro-batch 60 bytes in 1
  // message before c and 2*3/4 * 80 = 120 bytes in 6 messages. A message takes 0.5 s * 1 core / (4
  // devices / 2).
  const double bytes = 900 + 2 * (60 + 120);
  const double messages = 6 + 2 * (1 + 6) + 2 * 3;  // loss and norm go to the three others
  CHECK(node_work_seconds(instance, plan)[0] ==
        Approx(4 * (48.0 + bytes / 1000 + messages * 0.25)));
}

}  // namespace
}  // namespace pptrain
