#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// One layer of 120 parameters on a fast and a slow device, one row of two members: 3 + 1 heads.
struct ThreeAndOne {
  Profile profile;
  Cluster cluster = nodes_of(1, 1);
  Plan plan;

  ThreeAndOne() {
    profile.layers = {layer("a", 1.0, 1.0, 2.0)};
    profile.layers[0].parameters = 120.0;
    profile.layers[0].stored_bytes = 7.0;
    profile.layers[0].tensor_parallel_allreduce_bytes = 100.0;
    add_kind(profile, "t", 3.0);
    add_degree(profile, 2);
    add_slow_node(cluster, 1);
    plan = uniform_plan({{0, 1}}, 1, 2, 4, 4, "1f1b");
    plan.stages[0].shards = {{"heads", {{0, 3}, {3, 4}}}};
  }
  Instance instance() const { return {profile, cluster, 4}; }
};

TEST_CASE("a member works as much as its share says", "[cost]") {
  const ThreeAndOne made;
  // Degree 2 takes 2 s a sample on "v" and 6 s on "t": 2 * 3/4 * 2 = 3 s and 2 * 1/4 * 6 = 3 s,
  // four samples. Two all-reduces of 400 bytes at 100 B/s: 2 * (400 / 100 + 2 * 1) = 12 s.
  CHECK(amp_terms(made.instance(), made.plan).iteration_seconds == Approx(12.0 + 12.0));
  Plan even = made.plan;
  even.stages[0].shards.clear();
  CHECK(amp_terms(made.instance(), even).iteration_seconds == Approx(24.0 + 12.0));
  even.stages[0].shards = {{"columns", {{0, 8}, {8, 16}}}};
  CHECK(amp_terms(made.instance(), even).iteration_seconds == Approx(24.0 + 12.0));
  CHECK(device_work_seconds(made.instance(), made.plan) == std::vector<double>{12.0, 12.0});
}

TEST_CASE("a member holds what its largest share says", "[cost]") {
  ThreeAndOne made;
  // 16 bytes per parameter, 60 parameters each when even; 28 bytes of activations.
  CHECK(memory_bytes(made.instance(), made.plan) ==
        std::vector<double>{1.5 * 960 + 28, 0.5 * 960 + 28});
  made.plan.stages[0].shards["columns"] = {{0, 5}, {5, 10}};
  CHECK(memory_bytes(made.instance(), made.plan) == std::vector<double>{1.5 * 960 + 28, 960 + 28});
}

TEST_CASE("a shard's gradients are reduced as far as they go", "[cost]") {
  ThreeAndOne made;
  made.cluster = nodes_of(2, 2);
  made.plan = uniform_plan({{0, 1}}, 2, 2, 4, 4, "1f1b");
  made.plan.stages[0].shards = {{"heads", {{0, 3}, {3, 4}}}};
  // The larger shard has 90 parameters of 4 bytes: 360 / 100 + 2 * 1 s in a group of two.
  CHECK(amp_terms(made.instance(), made.plan).gradient_seconds == std::vector<double>{3.6 + 2.0});
}

TEST_CASE("blocks have shards of their own", "[cost]") {
  ThreeAndOne made;
  Plan plan = uniform_plan({{0, 1}}, 2, 1, 4, 4, "1f1b");
  plan.stages[0].blocks = {
      {{0, 1}, 1, 2, TensorPattern::megatron, {{0, 4}}, made.plan.stages[0].shards}};
  CHECK(amp_terms(made.instance(), plan).iteration_seconds == Approx(24.0));
}

}  // namespace
}  // namespace pptrain
