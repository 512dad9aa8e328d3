#include "simulate/routes.hpp"

#include <set>

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a way has one route, which nobody adds twice", "[simulate]") {
  const Cluster cluster = nodes_of(2, 2);  // links of 0.5 s, uplinks of 1 s
  EventQueue events;
  Network network(events);
  ClusterRoutes routes(cluster, network);
  const int within = routes.route(DeviceId(0), DeviceId(1));
  const int between = routes.route(DeviceId(0), DeviceId(2));
  const int back = routes.route(DeviceId(2), DeviceId(0));
  CHECK(std::set<int>{within, between, back}.size() == 3);
  CHECK(routes.route(DeviceId(0), DeviceId(2)) == between);
  CHECK(network.num_routes() == 3);
  CHECK(network.latency(within) == 0.5);
  CHECK(network.latency(between) == 1.0);
}

TEST_CASE("devices of a node share its uplink, up and down apart", "[simulate]") {
  const Cluster cluster = nodes_of(3, 2);
  EventQueue events;
  Network network(events);
  ClusterRoutes routes(cluster, network);
  const std::vector<Uplink> one = cluster.uplinks(DeviceId(0), DeviceId(2));
  const std::vector<Uplink> other = cluster.uplinks(DeviceId(1), DeviceId(4));
  const std::vector<Uplink> back = cluster.uplinks(DeviceId(3), DeviceId(0));
  REQUIRE((one.size() == 2 && other.size() == 2 && back.size() == 2));
  CHECK(routes.link(one[0]) == routes.link(other[0]));  // out of node 0
  CHECK(routes.link(one[1]) != routes.link(other[1]));  // into node 1, into node 2
  CHECK(routes.link(one[0]) != routes.link(back[1]));   // out of node 0, into it
}

TEST_CASE("routes in a copy of the network have the same numbers, and go on by themselves",
          "[simulate]") {
  const Cluster cluster = nodes_of(2, 2);
  EventQueue events;
  Network network(events);
  ClusterRoutes routes(cluster, network);
  const int known = routes.route(DeviceId(0), DeviceId(2));
  EventQueue events_of_copy = events;
  Network network_of_copy(network, events_of_copy);
  ClusterRoutes copy(routes, network_of_copy);
  CHECK(copy.route(DeviceId(0), DeviceId(2)) == known);
  copy.route(DeviceId(1), DeviceId(3));
  CHECK(network_of_copy.num_routes() == 2);
  CHECK(network.num_routes() == 1);
}

}  // namespace
}  // namespace pptrain
