#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "simulate/events.hpp"

namespace pptrain {

/// Links as shared resources. From one device to another transfers go one after another in the
/// order in which they are sent. Inside a node each ordered pair of devices has a link of its own;
/// uplinks of nodes and switches are shared by all pairs that pass them, up and down apart,
/// max-min fairly: all rates rise together until a link is full, then those of the others rise on.
class Network {
 public:
  Network(const Cluster& cluster, EventQueue& events) : cluster_(cluster), events_(&events) {}
  /// A copy that goes on by itself; `events` is a copy of the other's.
  Network(const Network& other, EventQueue& events) : Network(other) { events_ = &events; }

  /// The way from one device to another; asking again gives the same number.
  int route(DeviceId from, DeviceId to);
  double latency(int route) const { return routes_[route].latency; }

  /// Sends `bytes` after all that was sent this way before; `Event::Kind::flow_end` is scheduled, again whenever the
  /// rate changes.
  void start(double now, int route, double bytes, int transfer);
  /// Takes an event; returns the transfer whose last byte has left, or -1 where the event is outdated.
  int finish(const Event& event);

 private:
  Network(const Network&) = default;
  struct Waiting {
    double bytes;
    int transfer;
  };
  struct Route {
    std::vector<int> links;  ///< uplinks
    double bandwidth = 0.0;
    double latency = 0.0;
    bool busy = false;
    std::deque<Waiting> waiting;
  };
  struct SharedLink {
    double capacity = 0.0;
    std::vector<int> flows;
    double left = 0.0;  // while rates are found: of the capacity
    int open = 0;       // flows without a rate yet
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
  int link_index(const Uplink& uplink);
  void flow(double now, int route, const Waiting& what);
  bool alone(const Route& route) const;
  void set_rate(double now, int flow, double rate);
  void share(double now, const Route& from);
  void collect(const Route& from);
  void find_rates();

  const Cluster& cluster_;
  EventQueue* events_;
  std::map<std::pair<int, int>, int> route_index_;  // by devices
  std::map<std::pair<int, Uplink::Direction>, int> link_index_;
  std::vector<Route> routes_;
  std::vector<SharedLink> links_;
  std::vector<Flow> flows_;
  std::vector<int> free_flows_;
  std::vector<int> shared_links_;  // those that `share` looks at
  std::vector<int> shared_flows_;
  std::uint64_t round_ = 0;
};

}  // namespace pptrain
