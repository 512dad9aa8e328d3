#pragma once

#include "cost/instances.hpp"

namespace pptrain {

/// Four layers of a second per pass and sample on "v", two on "t".
inline Profile profile_of_two_kinds() {
  Profile profile;
  for (int l = 0; l < 4; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  add_kind(profile, "t", 2.0);
  profile.model = "made";
  return profile;
}

/// A node of a device "v" and one of a device "t", for so much an hour.
inline Cluster priced(double price_of_v, double price_of_t) {
  Cluster cluster = nodes_of(1, 1, 1e12);
  add_slow_node(cluster, 1, 1e12);
  cluster.currency = "USD";
  cluster.groups[0].price = price_of_v;
  cluster.groups[1].price = price_of_t;
  cluster.finish("made");
  return cluster;
}

}  // namespace pptrain
