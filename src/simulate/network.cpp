#include "simulate/network.hpp"

#include <algorithm>
#include <limits>

namespace pptrain {

int Network::link_index(const Uplink& uplink) {
  const auto [entry, is_new] =
      link_index_.emplace(std::pair(uplink.owner, uplink.direction), static_cast<int>(links_.size()));
  if (is_new) {
    links_.emplace_back();
    links_.back().capacity = uplink.link.bandwidth;
  }
  return entry->second;
}

int Network::route(DeviceId from, DeviceId to) {
  const auto [entry, is_new] = route_index_.emplace(std::pair(from.value, to.value), static_cast<int>(routes_.size()));
  if (!is_new) return entry->second;
  const Link path = cluster_.path(from, to);
  Route& route = routes_.emplace_back();
  route.bandwidth = path.bandwidth;
  route.latency = path.latency;
  for (const Uplink& uplink : cluster_.uplinks(from, to)) route.links.push_back(link_index(uplink));
  return entry->second;
}

int Network::new_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    return static_cast<int>(flows_.size()) - 1;
  }
  const int flow = free_flows_.back();
  free_flows_.pop_back();
  return flow;
}

bool Network::alone(const Route& route) const {
  return std::all_of(route.links.begin(), route.links.end(), [this](int l) { return links_[l].flows.size() <= 1; });
}

void Network::start(double now, int route, double bytes, int transfer) {
  Route& way = routes_[route];
  if (way.busy) {
    way.waiting.push_back({bytes, transfer});
  } else {
    flow(now, route, {bytes, transfer});
  }
}

void Network::flow(double now, int route, const Waiting& what) {
  const int index = new_flow();
  Flow& flow = flows_[index];
  flow.route = route;
  flow.transfer = what.transfer;
  flow.bytes = what.bytes;
  flow.rate = 0.0;
  flow.since = now;
  Route& way = routes_[route];
  way.busy = true;
  for (const int l : way.links) links_[l].flows.push_back(index);
  if (alone(way)) {
    set_rate(now, index, way.bandwidth);
  } else {
    share(now, way);
  }
}

int Network::finish(const Event& event) {
  Flow& flow = flows_[event.index];
  if (flow.version != event.version) return -1;
  ++flow.version;
  const int transfer = flow.transfer;
  const int route = flow.route;
  free_flows_.push_back(event.index);
  Route& way = routes_[route];
  for (const int l : way.links) {
    std::vector<int>& flows = links_[l].flows;
    flows.erase(std::find(flows.begin(), flows.end(), event.index));
  }
  way.busy = !way.waiting.empty();
  if (way.busy) {
    const Waiting next = way.waiting.front();
    way.waiting.pop_front();
    this->flow(event.time, route, next);
  } else if (!way.links.empty()) {
    share(event.time, way);
  }
  return transfer;
}

void Network::set_rate(double now, int index, double rate) {
  Flow& flow = flows_[index];
  if (flow.rate == rate) return;
  flow.bytes = std::max(0.0, flow.bytes - flow.rate * (now - flow.since));
  flow.rate = rate;
  flow.since = now;
  events_->push(now + flow.bytes / rate, Event::Kind::flow_end, index, ++flow.version);
}

/// The rates of all flows that share a link with this route, or with one that does, and so on.
void Network::share(double now, const Route& from) {
  collect(from);
  find_rates();
  for (const int f : shared_flows_) set_rate(now, f, flows_[f].next_rate);
}

void Network::collect(const Route& from) {
  ++round_;
  shared_links_.clear();
  shared_flows_.clear();
  const auto add_links = [this](const Route& route) {
    for (const int l : route.links) {
      if (links_[l].seen == round_) continue;
      links_[l].seen = round_;
      shared_links_.push_back(l);
    }
  };
  add_links(from);
  for (std::size_t i = 0; i < shared_links_.size(); ++i) {
    for (const int f : links_[shared_links_[i]].flows) {
      if (flows_[f].seen == round_) continue;
      flows_[f].seen = round_;
      flows_[f].next_rate = 0.0;
      shared_flows_.push_back(f);
      add_links(routes_[flows_[f].route]);
    }
  }
}

/// Max-min fair rates by progressive filling: again and again the link that leaves each of its open
/// flows least gives them that.
void Network::find_rates() {
  for (const int l : shared_links_) {
    links_[l].left = links_[l].capacity;
    links_[l].open = static_cast<int>(links_[l].flows.size());
  }
  for (std::size_t open = shared_flows_.size(); open > 0;) {
    int fullest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (const int l : shared_links_) {
      if (links_[l].open == 0) continue;
      const double rate = links_[l].left / links_[l].open;
      if (rate >= least) continue;
      least = rate;
      fullest = l;
    }
    for (const int f : links_[fullest].flows) {
      if (flows_[f].next_rate > 0.0) continue;
      flows_[f].next_rate = least;
      --open;
      for (const int l : routes_[flows_[f].route].links) {
        links_[l].left -= least;
        --links_[l].open;
      }
    }
  }
}

}  // namespace pptrain
