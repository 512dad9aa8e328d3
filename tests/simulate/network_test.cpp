#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "simulate/routes.hpp"
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
  Network network(events);
  ClusterRoutes routes(cluster, network);
  std::vector<double> result(sent.size(), -1.0);
  for (std::size_t i = 0; i < sent.size(); ++i)
    events.push(sent[i].at, Event::Kind::resume, static_cast<int>(i));
  while (!events.empty()) {
    const Event event = events.pop();
    if (event.kind == Event::Kind::resume) {
      const Sent& what = sent[event.index];
      const int route = routes.route(DeviceId(what.from), DeviceId(what.to));
      network.start(event.time, route, what.bytes, event.index);
    } else if (const int transfer = network.handle(event); transfer >= 0) {
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
  CHECK(ends(cluster, {{0, 0, 1, 1000}, {0.25, 0, 1, 500}, {0.25, 1, 0, 500}}) ==
        std::vector<double>{1, 1.5, 0.75});
  CHECK(ends(cluster, {{0, 0, 2, 100}, {0, 0, 2, 100}}) == std::vector<double>{1, 2});
}

TEST_CASE("two transfers over one uplink share it", "[simulate]") {
  const Cluster cluster = nodes_with({100, 100, 100});
  // Up from node 0: alone until 1, both until the first has sent its other 100 B, then the second
  // alone.
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

/// Max-min fair rates of all flows, found anew: the lowest of what any link leaves its open flows,
/// again and again.
std::vector<double> fair_rates(const Cluster& cluster, const std::vector<Sent>& sent,
                               const std::vector<int>& flows) {
  std::map<std::pair<int, Uplink::Direction>, double> left;
  std::vector<double> rates(sent.size(), 0.0);
  const auto uplinks = [&](int f) {
    return cluster.uplinks(DeviceId(sent[f].from), DeviceId(sent[f].to));
  };
  for (const int f : flows) {
    for (const Uplink& uplink : uplinks(f))
      left[{uplink.owner, uplink.direction}] = uplink.link.bandwidth;
    if (uplinks(f).empty())
      rates[f] = cluster.bandwidth(DeviceId(sent[f].from), DeviceId(sent[f].to));
  }
  while (std::any_of(flows.begin(), flows.end(), [&](int f) { return rates[f] == 0.0; })) {
    std::map<std::pair<int, Uplink::Direction>, std::vector<int>> open;
    for (const int f : flows) {
      if (rates[f] > 0.0) continue;
      for (const Uplink& uplink : uplinks(f)) open[{uplink.owner, uplink.direction}].push_back(f);
    }
    const auto share = [&](const auto& link) {
      return left[link.first] / static_cast<double>(link.second.size());
    };
    const auto fullest =
        *std::min_element(open.begin(), open.end(),
                          [&](const auto& a, const auto& b) { return share(a) < share(b); });
    const double rate = share(fullest);
    for (const int f : fullest.second) {
      rates[f] = rate;
      for (const Uplink& uplink : uplinks(f)) left[{uplink.owner, uplink.direction}] -= rate;
    }
  }
  return rates;
}

/// `ends` by steps from one start or end to the next, in which all rates are found anew.
std::vector<double> plain_ends(const Cluster& cluster, const std::vector<Sent>& sent) {
  const int num = static_cast<int>(sent.size());
  std::vector<double> left;
  for (const Sent& what : sent) left.push_back(what.bytes);
  std::vector<double> result(sent.size(), -1.0);
  const auto waits = [&](int i) {
    for (int j = 0; j < i; ++j) {
      if (result[j] < 0.0 && sent[j].from == sent[i].from && sent[j].to == sent[i].to) return true;
    }
    return false;
  };
  double now = 0.0;
  while (std::any_of(result.begin(), result.end(), [](double end) { return end < 0.0; })) {
    std::vector<int> flows;
    double next = std::numeric_limits<double>::infinity();
    for (int i = 0; i < num; ++i) {
      if (sent[i].at > now) {
        next = std::min(next, sent[i].at);
      } else if (result[i] < 0.0 && !waits(i)) {
        flows.push_back(i);
      }
    }
    const std::vector<double> rates = fair_rates(cluster, sent, flows);
    for (const int f : flows) next = std::min(next, now + left[f] / rates[f]);
    for (const int f : flows) {
      const bool ends = now + left[f] / rates[f] <= next * (1.0 + 1e-14);
      left[f] = std::max(0.0, left[f] - rates[f] * (next - now));
      if (ends) result[f] = next;
    }
    now = next;
  }
  return result;
}

TEST_CASE("rates found for what has changed are those found anew for everything", "[simulate]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    Cluster cluster = nodes_with({10.0 * pick(1, 9), 10.0 * pick(1, 9), 50, 50, 10.0 * pick(1, 9)});
    for (int n = 0; n < 5; ++n)
      cluster.groups[n].switch_name = pick(0, 1) == 0 ? "" : fmt::format("rack{}", n % 2);
    cluster.switches = {{"rack0", {10.0 * pick(1, 9), 1.0}, ""}, {"rack1", {60.0, 1.0}, "rack0"}};
    cluster.finish("made");
    std::vector<Sent> sent;
    for (int i = 0; i < 40; ++i) {
      const int from = pick(0, 9);
      sent.push_back({0.5 * pick(0, 20), from, (from + pick(1, 9)) % 10, 10.0 * pick(0, 20)});
    }
    std::stable_sort(sent.begin(), sent.end(),
                     [](const Sent& a, const Sent& b) { return a.at < b.at; });
    const std::vector<double> fast = ends(cluster, sent);
    const std::vector<double> plain = plain_ends(cluster, sent);
    INFO("seed " << seed);
    for (std::size_t i = 0; i < sent.size(); ++i) CHECK(fast[i] == Approx(plain[i]).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace pptrain
