#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "simulate/events.hpp"
#include "simulate/state_record.hpp"

namespace pptrain {

/// Links as shared resources. On one route transfers go one after another in the order in which
/// they are sent; links are shared by all routes that pass them, max-min fairly: all rates rise
/// together until a link is full, then those of the others rise on.
///
/// A route may stand for many that carry the same at the same time, and a link for many links that
/// these pass.
class Network {
 public:
  /// A link of a route, and what passes it of each byte that is sent: as many bytes as routes that
  /// this one stands for pass the link, or of a ring the part that does.
  struct LinkUse {
    int link = 0;
    double flows = 1.0;
  };

  explicit Network(EventQueue& events) : events_(&events) {}
  /// The queue in which the network schedules its events.
  EventQueue& events() const { return *events_; }
  /// A copy that goes on by itself; `events` is a copy of the other's.
  Network(const Network& other, EventQueue& events) : Network(other) { events_ = &events; }

  /// Adds a link of so many bytes per second; returns its number for `LinkUse::link`.
  int add_link(double bandwidth);
  /// A route without links that are shared has its bandwidth for itself.
  int add_route(const Link& path, std::vector<LinkUse> uses);
  /// Latency of a route in seconds. Transfers of the network end without it, when their last byte
  /// has left.
  double latency(int route) const { return routes_[route].latency; }

  /// Sends `bytes` after all that was sent this way before; `Event::Kind::flow_end` is scheduled,
  /// again whenever the rate changes.
  void start(double now, int route, double bytes, int transfer);
  /// Takes an event, `flow_end` or `share`; returns the transfer whose last byte has left, or -1
  /// where none has.
  int handle(const Event& event);

  /// Whether an event is one that `handle` does nothing about, as the flow's rate has changed
  /// since.
  bool is_stale(const Event& event) const {
    return event.kind == Event::Kind::flow_end && flows_[event.index].version != event.version;
  }
  /// Calls `use(transfer)` for what is on a route, in the order in which it was sent.
  template <class Use>
  void for_each_on_route(int route, const Use& use) const {
    if (!routes_[route].busy) return;
    use(flows_[routes_[route].flow].transfer);
    for (const Waiting& waits : routes_[route].waiting) use(waits.transfer);
  }
  /// How many routes there are; numbers of routes are 0 to this - 1.
  int num_routes() const { return static_cast<int>(routes_.size()); }
  /// The route of the transfer that an event of kind `flow_end` is about.
  int route_of(const Event& event) const { return flows_[event.index].route; }
  /// Adds what is under way.
  void describe(double now, StateRecord& state) const;

 private:
  Network(const Network&) = default;
  struct Waiting {
    double bytes;
    int transfer;
  };
  struct Route {
    std::vector<LinkUse> uses;
    double bandwidth = 0.0;  // alone on its links
    double latency = 0.0;
    bool busy = false;
    int flow = 0;  // while busy
    std::deque<Waiting> waiting;
  };
  struct FlowOnLink {
    int flow;
    double flows;
  };
  struct SharedLink {
    double capacity = 0.0;
    std::vector<FlowOnLink> flows;
    double left = 0.0;  // while rates are found: of the capacity
    double open = 0.0;  // flows without a rate yet
    int num_open = 0;   // the routes that have them
    std::uint64_t seen = 0;
  };
  struct Flow {
    int route = 0;
    int transfer = 0;
    double bytes = 0.0;  // left at `since`
    double rate = 0.0;
    double since = 0.0;
    double next_rate = 0.0;
    std::uint32_t version = 0;
    std::uint64_t seen = 0;
  };

  int new_flow();
  void flow(double now, int route, const Waiting& what);
  int finish(const Event& event);
  bool alone(const Route& route) const;
  void set_rate(double now, int flow, double rate);
  void share_later(double now, const Route& route);
  void share(double now);
  void collect();
  void add_links(const Route& route);
  void find_rates();
  void fill(int link, double rate);

  EventQueue* events_;
  std::vector<Route> routes_;
  std::vector<SharedLink> links_;
  std::vector<Flow> flows_;
  std::vector<int> free_flows_;
  std::vector<int> changed_routes_;  // since rates were found
  std::vector<int> shared_links_;    // those that `share` looks at
  std::vector<int> shared_flows_;
  std::vector<std::pair<double, int>> filling_;  // what links leave their open flows: a heap, least
                                                 // on top
  std::uint64_t round_ = 0;
};

}  // namespace pptrain
