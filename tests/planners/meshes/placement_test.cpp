#include "planners/meshes/placement.hpp"

#include <algorithm>
#include <numeric>

#include "cost/instances.hpp"
#include "planners/meshes/placement_graph.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

using enum PlacementPolicy;

/// Numbers of the devices that a policy takes.
std::vector<int> take(const Cluster& cluster, DeviceUse& use, PlacementPolicy policy, int num) {
  std::vector<int> numbers;
  for (const DeviceId device : device_ids(cluster, use.take(policy, num)))
    numbers.push_back(device.value);
  return numbers;
}

std::vector<int> range(int begin, int end) {
  std::vector<int> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

/// Three nodes of eight devices, of which four of the first and two of the second are used (as in
/// the paper's Figure 5 a stage of six devices follows).
struct Started {
  Started() {
    use.take(fresh_first, 4);
    use.take(fresh_first, 2);
  }
  Cluster cluster = nodes_of(3, 8);
  DeviceUse use = DeviceUse(cluster);
};

TEST_CASE("fresh-first takes a node of which nothing is used", "[planners]") {
  Started started;
  CHECK(take(started.cluster, started.use, fresh_first, 6) == range(16, 22));
}

TEST_CASE("append-first fills up used nodes", "[planners]") {
  Started started;
  CHECK(take(started.cluster, started.use, append_first, 6) ==
        std::vector<int>{4, 5, 6, 7, 10, 11});
}

TEST_CASE("scatter-first takes equally many of the used nodes", "[planners]") {
  Started started;
  CHECK(take(started.cluster, started.use, scatter_first, 6) ==
        std::vector<int>{4, 5, 6, 10, 11, 12});
}

TEST_CASE("scatter-first takes equally many of all nodes when all are fresh", "[planners]") {
  const Cluster cluster = nodes_of(3, 8);
  DeviceUse use(cluster);
  CHECK(take(cluster, use, scatter_first, 7) == std::vector<int>{0, 1, 2, 8, 9, 16, 17});
  CHECK(use.num_free() == 17);
}

TEST_CASE("what a policy's nodes lack comes from the others", "[planners]") {
  {
    Started started;  // eight fresh ones, then the first used node
    std::vector<int> expected = {4, 5};
    for (const int d : range(16, 24)) expected.push_back(d);
    CHECK(take(started.cluster, started.use, fresh_first, 10) == expected);
  }
  {
    Started started;  // ten of used nodes, then the fresh node
    std::vector<int> expected = range(4, 8);
    for (const int d : range(10, 18)) expected.push_back(d);
    CHECK(take(started.cluster, started.use, append_first, 12) == expected);
    CHECK(take(started.cluster, started.use, append_first, 6) == range(18, 24));
    CHECK(started.use.num_free() == 0);
  }
  {
    Started started;  // four of each used node, then the rest of the second one, then the fresh
                      // node
    std::vector<int> expected = range(4, 8);
    for (const int d : range(10, 17)) expected.push_back(d);
    CHECK(take(started.cluster, started.use, scatter_first, 11) == expected);
  }
}

TEST_CASE("nodes and devices come in file order whatever their kind", "[planners]") {
  Cluster cluster = nodes_of(1, 2);
  add_slow_node(cluster, 3);
  DeviceUse use(cluster);
  CHECK(take(cluster, use, fresh_first, 1) == std::vector<int>{0});
  CHECK(take(cluster, use, fresh_first, 4) == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("ten thousand devices are a few runs", "[planners]") {
  const Cluster cluster = nodes_of(1280, 8);
  DeviceUse use(cluster);
  CHECK(use.take(fresh_first, 4000) == std::vector<TakenDevices>{{0, 500, 0, 8}});
  CHECK(use.take(scatter_first, 1000) ==
        std::vector<TakenDevices>{{500, 220, 0, 2}, {720, 560, 0, 1}});
  CHECK(use.runs().size() == 3);
  CHECK(use.take(append_first, 9) == std::vector<TakenDevices>{{500, 1, 2, 6}, {501, 1, 2, 3}});
  CHECK(use.num_free() == 10240 - 5009);
}

/// Placements of all stages, as sets of device numbers, by trying every policy for every stage.
using Placed = std::vector<std::vector<int>>;

void place_rest(const Cluster& cluster, const DeviceUse& use, Placed& placed,
                std::vector<Placed>& all) {
  if (use.num_free() == 0) all.push_back(placed);
  for (int r = 1; r <= use.num_free(); ++r) {
    for (const PlacementPolicy policy : {fresh_first, append_first, scatter_first}) {
      DeviceUse after = use;
      placed.push_back(take(cluster, after, policy, r));
      place_rest(cluster, after, placed, all);
      placed.pop_back();
    }
  }
}

/// Placements of all stages by walking the graph; its stages only say how many and by which policy.
void walk(const Cluster& cluster, const PlacementGraph& graph, const std::vector<Placement>& next,
          const DeviceUse& use, Placed& placed, std::vector<Placed>& all) {
  if (use.num_free() == 0) all.push_back(placed);
  for (const Placement& placement : next) {
    DeviceUse after = use;
    placed.push_back(
        take(cluster, after, placement.policy, graph.stages()[placement.stage].replicas));
    CHECK(after.num_free() == graph.stages()[placement.stage].num_left);
    walk(cluster, graph, graph.next(placement.stage), after, placed, all);
    placed.pop_back();
  }
}

TEST_CASE("the graph of placements has each composition of policies once", "[planners]") {
  for (const auto& [nodes, devices] : {std::pair{1, 4}, {2, 3}, {3, 2}, {5, 1}}) {
    const Cluster cluster = nodes_of(nodes, devices);
    PlacementRules rules;
    rules.replicas = range(1, nodes * devices + 1);
    const auto graph = PlacementGraph::build(cluster, rules, 1e9);
    REQUIRE(graph.has_value());
    std::vector<Placed> expected;
    std::vector<Placed> found;
    Placed placed;
    place_rest(cluster, DeviceUse(cluster), placed, expected);
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    walk(cluster, *graph, graph->first(), DeviceUse(cluster), placed, found);
    std::sort(found.begin(), found.end());
    CHECK(found == expected);
  }
}

TEST_CASE("a graph with too many links is not built", "[planners]") {
  const Cluster cluster = nodes_of(4, 4);
  PlacementRules rules;
  rules.replicas = range(1, 17);
  CHECK_FALSE(PlacementGraph::build(cluster, rules, 1000).has_value());
  rules.most_started_nodes = 1;
  CHECK(PlacementGraph::build(cluster, rules, 1000).has_value());
}

}  // namespace
}  // namespace pptrain
