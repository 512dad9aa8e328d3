#include "simulate/network.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Nodes of two devices with links of 1000 B/s and 0.5 s, and these uplinks (B/s, 1 s).
Cluster nodes_with(const std::vector<double>& uplinks) {
  Cluster cluster;
  cluster.device_kinds = {{"v", 1e6, {}, 0.0}};
  for (const double bandwidth : uplinks) {
    NodeGroup group;
    group.kind = "node";
    group.device_kind = "v";
    group.num_devices = 2;
    group.link = {1000.0, 0.5};
    group.uplink = {bandwidth, 1.0};
    cluster.groups.push_back(group);
  }
  cluster.finish("made");
  return cluster;
}

struct Sent {
  double at;
  int from;
  int to;
  double bytes;
};

/// When the last byte of each transfer leaves. `sent` is in the order of time.
std::vector<double> ends(const Cluster& cluster, const std::vector<Sent>& sent) {
  EventQueue events;
  Network network(cluster, events);
  std::vector<double> result(sent.size(), -1.0);
  for (std::size_t i = 0; i < sent.size(); ++i) events.push(sent[i].at, Event::Kind::resume, static_cast<int>(i));
  while (!events.empty()) {
    const Event event = events.pop();
    if (event.kind == Event::Kind::resume) {
      const Sent& what = sent[event.index];
      const int route = network.route(DeviceId(what.from), DeviceId(what.to));
      network.start(event.time, route, what.bytes, event.index);
    } else if (const int transfer = network.finish(event); transfer >= 0) {
      result[transfer] = event.time;
    }
  }
  return result;
}

TEST_CASE("a transfer alone takes its bytes over the slowest link of its way", "[simulate]") {
  const Cluster cluster = nodes_with({100, 50});
  CHECK(ends(cluster, {{1, 0, 1, 500}}) == std::vector<double>{1.5});
  CHECK(ends(cluster, {{0, 0, 2, 100}}) == std::vector<double>{2});
  CHECK(ends(cluster, {{0, 0, 2, 0}}) == std::vector<double>{0});
}

TEST_CASE("transfers from one device to another go one after another", "[simulate]") {
  const Cluster cluster = nodes_with({100, 100});
  CHECK(ends(cluster, {{0, 0, 1, 1000}, {0.25, 0, 1, 500}, {0.25, 1, 0, 500}}) == std::vector<double>{1, 1.5, 0.75});
  CHECK(ends(cluster, {{0, 0, 2, 100}, {0, 0, 2, 100}}) == std::vector<double>{1, 2});
}

TEST_CASE("two transfers over one uplink share it", "[simulate]") {
  const Cluster cluster = nodes_with({100, 100, 100});
  // Up from node 0: alone until 1, both until the first has sent its other 100 B, then the second alone.
  CHECK(ends(cluster, {{0, 0, 2, 200}, {1, 1, 4, 150}}) == std::vector<double>{3, 3.5});
  // Up and down are apart.
  CHECK(ends(cluster, {{0, 0, 2, 100}, {0, 3, 1, 100}}) == std::vector<double>{1, 1});
}

TEST_CASE("what a slow uplink keeps from a transfer the others get", "[simulate]") {
  // To node 2 no more than 20 B/s; the transfer to node 1 has the other 80 of node 0's uplink.
  const Cluster cluster = nodes_with({100, 100, 20});
  CHECK(ends(cluster, {{0, 0, 2, 160}, {0, 1, 4, 80}}) == std::vector<double>{2, 4});
}

TEST_CASE("the uplink of a switch is shared by its nodes", "[simulate]") {
  Cluster cluster = nodes_with({100, 100, 100});
  cluster.groups[0].switch_name = "rack";
  cluster.groups[1].switch_name = "rack";
  cluster.switches = {{"rack", {100, 1.0}, ""}};
  cluster.finish("made");
  CHECK(ends(cluster, {{0, 0, 4, 100}, {0, 2, 5, 100}}) == std::vector<double>{2, 2});
  CHECK(ends(cluster, {{0, 0, 2, 100}, {0, 3, 5, 100}}) == std::vector<double>{1, 1});
}

}  // namespace
}  // namespace pptrain
