#include "simulate/routes.hpp"

namespace pptrain {

int ClusterRoutes::link(const Uplink& uplink) {
  const auto [entry, is_new] = links_.try_emplace({uplink.owner, uplink.direction}, 0);
  if (is_new) entry->second = network_.add_link(uplink.link.bandwidth);
  return entry->second;
}

int ClusterRoutes::route(DeviceId from, DeviceId to) {
  const auto [entry, is_new] = routes_.try_emplace({from.value, to.value}, 0);
  if (!is_new) return entry->second;
  std::vector<Network::LinkUse> uses;
  for (const Uplink& uplink : cluster_.uplinks(from, to)) uses.push_back({link(uplink)});
  return entry->second = network_.add_route(cluster_.path(from, to), std::move(uses));
}

}  // namespace pptrain
