#pragma once

#include <string>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Some devices of a cluster in a row. A uniform grid lies on a site with shard k of replica j of
/// stage i on its device (i * dp + j) * tmp + k; what the site leaves out stays unused.
struct Site {
  std::string name;  ///< "file", "fast kinds first without p3.2xlarge"
  std::vector<DeviceId> devices;
};

/// The sites that are worth a search: every subset of the node groups (where there are more than
/// `most_subset_groups`, all of them, each one alone and all but each one), each in the orders of
/// `device_orders` and, of up to three groups, in every order of these; of a small cluster
/// (`is_small`) with every number of devices of each group. A cluster without some of its groups
/// therefore has a part of the sites of the whole one. The largest come first; equal ones are there
/// once.
std::vector<Site> sites_of(const Instance& instance);
constexpr int most_subset_groups = 4;

}  // namespace pptrain
