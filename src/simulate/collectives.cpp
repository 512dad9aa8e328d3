#include "simulate/collectives.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace pptrain {
namespace {

/// Bytes on the uplink that most pass: as many the network sends for the collective.
double most_bytes(const PricedCollective& priced) {
  double most = 0.0;
  for (const UplinkBytes& passed : priced.uplinks) most = std::max(most, passed.bytes);
  return most;
}

}  // namespace

int add_collective_route(Network& network, const PricedCollective& priced,
                         std::vector<Network::LinkUse> uses) {
  const double most = most_bytes(priced);
  const double alone = most / priced.seconds;
  for (Network::LinkUse& use : uses) use.flows /= most;
  uses.push_back({network.add_link(alone), 1.0});
  return network.add_route({alone, 0.0}, std::move(uses));
}

std::vector<double> seconds_together(const std::vector<PricedCollective>& priced) {
  using Key = std::tuple<PricedCollective::Kind, bool, int, int, Uplink::Direction>;
  const auto key = [](const PricedCollective& collective, const Uplink& uplink) {
    return Key(collective.kind, collective.behind.empty(), collective.chunk.value, uplink.owner,
               uplink.direction);
  };
  std::map<Key, double> bytes;
  for (const PricedCollective& collective : priced) {
    for (const UplinkBytes& passed : collective.uplinks)
      bytes[key(collective, passed.uplink)] += passed.bytes;
  }
  std::vector<double> seconds;
  for (const PricedCollective& collective : priced) {
    seconds.push_back(collective.seconds);
    for (const UplinkBytes& passed : collective.uplinks) {
      const double all = bytes[key(collective, passed.uplink)] / passed.uplink.link.bandwidth;
      seconds.back() = std::max(seconds.back(), all);
    }
  }
  return seconds;
}

Collectives::Collectives(const std::vector<PricedCollective>& priced, int num_lanes,
                         const std::vector<int>& routes, int first_transfer, Network& network,
                         EventQueue& events)
    : priced_(priced),
      routes_(routes),
      first_transfer_(first_transfer),
      network_(network),
      events_(events),
      arrivals_(priced.size()),
      started_(priced.size(), 0),
      lanes_(static_cast<std::size_t>(num_lanes)),
      behind_(static_cast<std::size_t>(num_lanes)) {
  for (const PricedCollective& collective : priced) {
    for (const int lane : collective.behind) {
      std::vector<int>& waiting = behind_[static_cast<std::size_t>(lane)];
      if (std::find(waiting.begin(), waiting.end(), collective.lane) == waiting.end())
        waiting.push_back(collective.lane);
    }
  }
}

void Collectives::come(double now, int program, int number) {
  const PricedCollective& collective = priced_[number];
  std::vector<int>& arrivals = arrivals_[number];
  arrivals.resize(collective.programs.size());
  ++arrivals[std::find(collective.programs.begin(), collective.programs.end(), program) -
             collective.programs.begin()];
  if (*std::min_element(arrivals.begin(), arrivals.end()) == started_[number]) return;
  ++started_[number];
  const int index = static_cast<int>(running_.size());
  running_.push_back({number, now});
  std::deque<int>& lane = lanes_[static_cast<std::size_t>(collective.lane)];
  lane.push_back(index);
  if (lane.front() == index) start_first(now, collective.lane);
}

/// Whether what came earlier to the lanes that it is behind has ended.
bool Collectives::may_start(int index) const {
  const std::vector<int>& behind = priced_of(index).behind;
  return std::all_of(behind.begin(), behind.end(), [&](int lane) {
    const std::deque<int>& before = lanes_[static_cast<std::size_t>(lane)];
    return before.empty() || before.front() > index;
  });
}

void Collectives::start_first(double now, int lane) {
  const int index = lanes_[static_cast<std::size_t>(lane)].front();
  if (running_[index].runs || !may_start(index)) return;
  running_[index].started = now;
  running_[index].runs = true;
  const PricedCollective& collective = priced_of(index);
  if (collective.uplinks.empty()) {
    events_.push(now + collective.seconds, Event::Kind::reduction_end, index);
  } else {
    network_.start(now, routes_[running_[index].number], most_bytes(collective),
                   first_transfer_ + index);
  }
}

Collectives::Running Collectives::end(double now, int index) {
  const int lane = priced_of(index).lane;
  std::deque<int>& waiting = lanes_[static_cast<std::size_t>(lane)];
  waiting.pop_front();
  if (!waiting.empty()) start_first(now, lane);
  for (const int other : behind_[static_cast<std::size_t>(lane)]) {
    if (!lanes_[static_cast<std::size_t>(other)].empty()) start_first(now, other);
  }
  return running_[index];
}

void Collectives::describe(double now, StateRecord& state) const {
  for (std::size_t c = 0; c < arrivals_.size(); ++c) {
    for (const int arrived : arrivals_[c]) state.add_count(arrived - started_[c]);
  }
  for (const std::deque<int>& lane : lanes_) {
    state.add_count(std::ssize(lane));
    for (const int index : lane) {
      state.add_count(running_[index].number);
      state.add_count(running_[index].runs);
      state.add_seconds(now - running_[index].started);
    }
  }
}

}  // namespace pptrain
