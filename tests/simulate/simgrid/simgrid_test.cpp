// Our simulator against SimGrid's on pipelines whose transfers contend for links: makespans within
// 2 %.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cost/instances.hpp"
#include "s4u_model.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr double gigabyte = 1e9;

/// Nodes of kind "v" with links of 10 GB/s and these uplinks in GB/s, all of the same latency.
Cluster nodes_with(const std::vector<double>& uplinks, int devices, double latency = 0.0) {
  Cluster cluster;
  cluster.device_kinds = {{"v", 1e15, {}, 0.0}};
  for (const double bandwidth : uplinks) {
    NodeGroup group;
    group.kind = "node";
    group.device_kind = "v";
    group.num_devices = devices;
    group.link = {10 * gigabyte, latency};
    group.uplink = {bandwidth * gigabyte, latency};
    cluster.groups.push_back(group);
  }
  cluster.finish("made");
  return cluster;
}

/// Nodes 2i and 2i + 1 below switch i, whose uplink has `bandwidth` GB/s.
void add_racks(Cluster& cluster, double bandwidth) {
  const double latency = cluster.groups.front().uplink.latency;
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    const std::string rack = "rack" + std::to_string(i / 2);
    cluster.groups[i].switch_name = rack;
    if (i % 2 == 0) cluster.switches.push_back({rack, {bandwidth * gigabyte, latency}, ""});
  }
  cluster.finish("made");
}

/// Layers of about a second a sample and direction, no two neighbours equal, that hand on
/// `gigabytes` a sample.
Profile chain(int num_layers, double gigabytes) {
  Profile profile;
  for (int l = 0; l < num_layers; ++l) {
    const double forward = 0.9 + 0.1 * (l % 3);
    profile.layers.push_back(layer("l" + std::to_string(l), forward, 1.1 * forward, 0.8 * forward));
    profile.layers.back().output_bytes = gigabytes * gigabyte * (1.0 + 0.2 * (l % 2));
  }
  return profile;
}

/// A layer in each of the p * V chunks.
Plan pipeline(int p, int dp, int samples, int micro_batches, const std::string& schedule,
              int chunks = 1) {
  Plan plan = uniform_plan(even_division(p, p), dp, 1, samples * dp * micro_batches, samples * dp,
                           schedule);
  plan.schedule.virtual_stages = chunks;
  for (int i = 0; i < p; ++i) {
    for (int v = 1; v < chunks; ++v) plan.stages[i].layers.push_back({v * p + i, v * p + i + 1});
  }
  return plan;
}

/// Two replicas of three samples each hand over to three of two, on nodes of five devices.
Plan two_to_three(const std::string& schedule) {
  Plan plan = pipeline(2, 1, 6, 8, schedule);
  plan.stages[0].replicas = 2;
  plan.stages[0].devices = {{DeviceId(0)}, {DeviceId(1)}};
  plan.stages[0].samples = {{0, 3}, {3, 6}};
  plan.stages[1].replicas = 3;
  plan.stages[1].devices = {{DeviceId(5)}, {DeviceId(6)}, {DeviceId(7)}};
  plan.stages[1].samples = {{0, 2}, {2, 4}, {4, 6}};
  return plan;
}

/// The plan with its devices dealt out to the nodes in turn, each stage beginning one node further
/// on.
Plan scattered(Plan plan, int num_nodes) {
  const int devices_of_node = (plan.num_devices() + num_nodes - 1) / num_nodes;
  std::vector<int> taken(num_nodes, 0);
  for (int i = 0; i < plan.num_stages(); ++i) {
    for (int replica = 0; replica < plan.stages[i].replicas; ++replica) {
      const int node = (replica + i) % num_nodes;
      plan.stages[i].devices[replica] = {DeviceId(node * devices_of_node + taken[node]++)};
    }
  }
  return plan;
}

Cluster in_racks(Cluster cluster, double bandwidth) {
  add_racks(cluster, bandwidth);
  return cluster;
}

/// Every other node is of kind "t", half as fast.
SimulationCase with_slow_nodes(SimulationCase what) {
  what.cluster.device_kinds.push_back({"t", 1e15, {}, 0.0});
  for (std::size_t i = 1; i < what.cluster.groups.size(); i += 2)
    what.cluster.groups[i].device_kind = "t";
  what.cluster.finish("made");
  add_kind(what.profile, "t", 2.0);
  return what;
}

std::vector<SimulationCase> make_cases() {
  const double latency = 0.001;  // seconds, a thousandth of a task
  return {
      {"four pairs, 1f1b", nodes_with({2, 2}, 4), chain(2, 1), pipeline(2, 4, 1, 8, "1f1b")},
      {"four pairs, gpipe", nodes_with({2, 2}, 4, latency), chain(2, 1),
       pipeline(2, 4, 1, 8, "gpipe")},
      {"unequal uplinks", nodes_with({3, 1, 2, 3}, 2, latency), chain(4, 1),
       pipeline(4, 2, 1, 12, "1f1b")},
      {"inside and between", nodes_with({1, 1, 1, 1}, 4), chain(8, 1),
       pipeline(8, 2, 1, 16, "1f1b")},
      {"long ways", nodes_with({2, 2, 2, 2}, 2, 0.1), chain(4, 1), pipeline(4, 2, 1, 12, "1f1b")},
      {"one slow uplink", nodes_with({5, 0.5, 5, 5, 5, 5}, 1, latency), chain(6, 1),
       pipeline(6, 1, 1, 20, "1f1b")},
      {"scattered", nodes_with({1, 1.2, 1.4, 1.6}, 4), chain(4, 0.5),
       scattered(pipeline(4, 4, 1, 8, "gpipe"), 4)},
      {"two replicas feed three", nodes_with({2, 3}, 5, latency), chain(2, 1),
       two_to_three("1f1b")},
      {"uplinks of switches", in_racks(nodes_with({4, 4, 4, 4}, 4, latency), 2), chain(4, 1),
       pipeline(4, 4, 1, 12, "1f1b")},
      {"scattered over switches", in_racks(nodes_with({2, 2, 2, 2}, 2), 1), chain(4, 1),
       scattered(pipeline(4, 2, 1, 10, "gpipe"), 4)},
      with_slow_nodes({"unequal devices", nodes_with({2, 2, 2, 2}, 4, latency), chain(8, 1),
                       pipeline(8, 2, 2, 8, "1f1b")}),
      {"warm-up of policy B", nodes_with({2, 2, 2, 2}, 2, latency), chain(4, 1),
       pipeline(4, 2, 1, 12, "dapple-b")},
      {"interleaved", nodes_with({2, 2, 2, 2}, 2, latency), chain(8, 1),
       pipeline(4, 2, 1, 12, "interleaved-1f1b", 2)},
      {"breadth-first", nodes_with({2, 2, 2, 2}, 2), chain(8, 1),
       pipeline(4, 2, 1, 8, "breadth-first", 2)},
      {"backward in two parts", nodes_with({2, 2, 2, 2}, 2, latency), chain(4, 1),
       pipeline(4, 2, 1, 12, "zb-h1")},
      {"units", nodes_with({2, 2, 2, 2}, 2, latency), chain(8, 1),
       pipeline(4, 2, 1, 12, "zeropp", 2)},
  };
}

double makespan(const SimulationCase& what) {
  return simulate({what.profile, what.cluster, what.plan.global_batch_size}, what.plan,
                  programs_of(what))
      .makespan_seconds;
}

/// The makespan with links that nobody has to share.
double makespan_alone(SimulationCase what) {
  for (NodeGroup& group : what.cluster.groups) group.uplink.bandwidth *= 1000;
  for (Switch& node : what.cluster.switches) node.uplink.bandwidth *= 1000;
  what.cluster.finish("made");
  return makespan(what);
}

TEST_CASE("pipelines on shared links take as long as in SimGrid", "[simgrid]") {
  constexpr double tolerance = 0.02;
  const std::vector<SimulationCase> cases = make_cases();
  const std::vector<double> theirs = simgrid_makespans(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const double ours = makespan(cases[i]);
    INFO(cases[i].name << ": ours " << ours << " s, SimGrid " << theirs[i] << " s");
    CHECK(std::abs(ours - theirs[i]) <= tolerance * theirs[i]);
    CHECK(ours > 1.05 * makespan_alone(cases[i]));  // links matter
  }
}

}  // namespace
}  // namespace pptrain
