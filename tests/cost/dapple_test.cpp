#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Single devices on nodes of their own; uplinks of 100 B/s, 1 s.
TEST_CASE("the pivot is the stage whose steady phase dominates", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 2), layer("b", 5, 4, 6), layer("c", 1, 2, 1)};
  profile.layers[0].output_bytes = 100;  // communication stages of 100 / 100 + 1 = 2 s each way
  profile.layers[1].output_bytes = 50;   // 0.5 + 1 = 1.5 s
  const Cluster cluster = nodes_of(3, 1);
  const Instance instance = {profile, cluster, 4};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}, {2, 3}}, 1, 1, 4, 1, "1f1b");
  // Line (F, B): a (1, 3), 2/2, b (5, 10), 1.5/1.5, c (1, 3); M = 4.
  // From c: 3*3 > 3*4 + 0 fails for the cut, b: 3*15 > 3*4 + 3 holds, the rest fails: Q = b.
  // Warm-up 1 + 2 + 5 = 8, steady 3 * 15 = 45, ending max(3 + 2 + 10, 2 + 10, 10) = 15.
  CHECK(dapple_seconds(instance, plan) == Approx(68.0));
}

TEST_CASE("all-reduces of stages before the pivot overlap less than those behind it", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1), layer("b", 4, 4, 4)};
  profile.layers[0].parameters = 1000;
  profile.layers[1].parameters = 10;
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 8};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 8, 2, "1f1b");
  // AR: a 4000 bytes 4/1 = 4 + 1 = 5 s, b 0.04 + 1 = 1.04. Cut: 0 bytes, 0.5 s each way.
  // Q = b. Warm-up 1 + 0.5 + 4, steady 3 * 12, ending max(5 + 2 + 0.5 + 8, 0.5 + 8, 1.04 + 8).
  CHECK(dapple_seconds(instance, plan) == Approx(5.5 + 36.0 + 15.5));
}

TEST_CASE("behind the pivot the all-reduce has had time already", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 4, 4, 4), layer("b", 1, 1, 1)};
  profile.layers[1].parameters = 4000;
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 8};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 8, 2, "1f1b");
  // AR_b = 16000/1000 + 1 = 17, AR_a = 1 (latency). The cut takes 0.5. Q = a.
  // Warm-up 4, steady 3 * 12, ending max(1 + 8, 17 - 0.5).
  CHECK(dapple_seconds(instance, plan) == Approx(4.0 + 36.0 + 16.5));
}

TEST_CASE("one stage reduces its layers while the backward pass goes on", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1), layer("b", 1, 2, 1), layer("c", 1, 1, 0)};
  profile.layers[0].parameters = 250;   // 1000 bytes: 1 + 1 = 2 s
  profile.layers[2].parameters = 1000;  // 4000 bytes: 4 + 1 = 5 s
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  const Plan plan = uniform_plan({{0, 3}}, 2, 1, 4, 2, "1f1b");
  // Backward: c ends at 1, b at 4, a at 6. Reductions: c 1-6, a 6-8; b has no gradients. Left
  // over: 2. L = F 3 + (2-1) * (3 + 6) + (2 + 6)
  CHECK(dapple_seconds(instance, plan) == Approx(20.0));
}

TEST_CASE("many pairs share the uplink of a node", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 0), layer("b", 1, 1, 0)};
  profile.layers[0].output_bytes = 100;
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 4};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 4, 4, "1f1b");
  // Each pair moves 200 bytes (3 s with latency), the node's uplink 400 bytes: 4 + 1 = 5 s each
  // way. M = 1: Q = b: 2 + 5 + 2, then the ending: AR 2*1/2*0 + 2*0.5 = 1, so 1 + 2 + 5 + 2.
  CHECK(dapple_seconds(instance, plan) == Approx(9.0 + 10.0));
  CHECK(amp_terms(instance, plan).cut_seconds[0] == Approx(6.0));  // 2 * (200 / 100 + 1)
}

}  // namespace
}  // namespace pptrain
