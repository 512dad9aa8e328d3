#include "simulate/network.hpp"

#include <algorithm>
#include <functional>

namespace pptrain {

int Network::add_link(double bandwidth) {
  links_.emplace_back();
  links_.back().capacity = bandwidth;
  return static_cast<int>(links_.size()) - 1;
}

int Network::add_route(const Link& path, std::vector<LinkUse> uses) {
  Route& route = routes_.emplace_back();
  route.bandwidth = path.bandwidth;
  route.latency = path.latency;
  for (const LinkUse& use : uses)
    route.bandwidth = std::min(route.bandwidth, links_[use.link].capacity / use.flows);
  route.uses = std::move(uses);
  return static_cast<int>(routes_.size()) - 1;
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
  return std::all_of(route.uses.begin(), route.uses.end(),
                     [this](const LinkUse& use) { return links_[use.link].flows.size() <= 1; });
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
  way.flow = index;
  for (const LinkUse& use : way.uses) links_[use.link].flows.push_back({index, use.flows});
  if (alone(way)) {
    set_rate(now, index, way.bandwidth);
  } else {
    share_later(now, way);
  }
}

int Network::handle(const Event& event) {
  if (event.kind == Event::Kind::flow_end) return finish(event);
  share(event.time);
  return -1;
}

int Network::finish(const Event& event) {
  Flow& flow = flows_[event.index];
  if (flow.version != event.version) return -1;
  ++flow.version;
  const int transfer = flow.transfer;
  const int route = flow.route;
  free_flows_.push_back(event.index);
  Route& way = routes_[route];
  for (const LinkUse& use : way.uses) {
    std::vector<FlowOnLink>& flows = links_[use.link].flows;
    flows.erase(std::find_if(flows.begin(), flows.end(),
                             [&](const FlowOnLink& f) { return f.flow == event.index; }));
  }
  way.busy = !way.waiting.empty();
  if (way.busy) {
    const Waiting next = way.waiting.front();
    way.waiting.pop_front();
    this->flow(event.time, route, next);
  } else {
    share_later(event.time, way);
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

/// Rates change when everything that happens at this time has happened: what starts or ends
/// together costs one search.
void Network::share_later(double now, const Route& route) {
  const bool any = std::any_of(route.uses.begin(), route.uses.end(), [this](const LinkUse& use) {
    return !links_[use.link].flows.empty();
  });
  if (!any) return;
  if (changed_routes_.empty()) events_->push(now, Event::Kind::share, 0);
  changed_routes_.push_back(static_cast<int>(&route - routes_.data()));
}

/// The rates of all flows that share a link with a route that has changed, or with one that does,
/// and so on.
void Network::share(double now) {
  collect();
  find_rates();
  for (const int f : shared_flows_) set_rate(now, f, flows_[f].next_rate);
}

void Network::add_links(const Route& route) {
  for (const LinkUse& use : route.uses) {
    if (links_[use.link].seen == round_) continue;
    links_[use.link].seen = round_;
    shared_links_.push_back(use.link);
  }
}

void Network::collect() {
  ++round_;
  shared_links_.clear();
  shared_flows_.clear();
  for (const int route : changed_routes_) add_links(routes_[route]);
  changed_routes_.clear();
  for (std::size_t i = 0; i < shared_links_.size(); ++i) {
    for (const FlowOnLink& on_link : links_[shared_links_[i]].flows) {
      Flow& flow = flows_[on_link.flow];
      if (flow.seen == round_) continue;
      flow.seen = round_;
      flow.next_rate = 0.0;
      shared_flows_.push_back(on_link.flow);
      add_links(routes_[flow.route]);
    }
  }
}

/// Max-min fair rates by progressive filling: again and again the link that leaves each of its open
/// flows least gives them that. What a link leaves never falls, so that an old entry of the heap is
/// put back.
void Network::find_rates() {
  filling_.clear();
  for (const int l : shared_links_) {
    SharedLink& link = links_[l];
    link.left = link.capacity;
    link.open = 0.0;
    link.num_open = static_cast<int>(link.flows.size());
    for (const FlowOnLink& on_link : link.flows) link.open += on_link.flows;
    if (link.num_open > 0) filling_.push_back({link.left / link.open, l});
  }
  std::make_heap(filling_.begin(), filling_.end(), std::greater<>());
  while (!filling_.empty()) {
    std::pop_heap(filling_.begin(), filling_.end(), std::greater<>());
    const auto [rate, l] = filling_.back();
    filling_.pop_back();
    if (links_[l].num_open == 0) continue;
    const double now = links_[l].left / links_[l].open;
    if (now > rate) {
      filling_.push_back({now, l});
      std::push_heap(filling_.begin(), filling_.end(), std::greater<>());
    } else {
      fill(l, now);
    }
  }
}

/// Gives the open flows of a link this rate.
void Network::fill(int link, double rate) {
  for (const FlowOnLink& on_link : links_[link].flows) {
    Flow& flow = flows_[on_link.flow];
    if (flow.next_rate > 0.0) continue;
    flow.next_rate = rate;
    for (const LinkUse& use : routes_[flow.route].uses) {
      links_[use.link].left -= use.flows * rate;
      links_[use.link].open -= use.flows;
      --links_[use.link].num_open;
    }
  }
}

/// What is left of a transfer as the seconds that it takes alone.
void Network::describe(double now, StateRecord& state) const {
  for (const Route& route : routes_) {
    state.add_count(route.busy ? 1 + std::ssize(route.waiting) : 0);
    if (!route.busy) continue;
    const Flow& flow = flows_[route.flow];
    state.add_seconds((flow.bytes - flow.rate * (now - flow.since)) / route.bandwidth);
  }
}

}  // namespace pptrain
