#include "planners/frames/site.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "planners/divide/device_order.hpp"

namespace pptrain {
namespace {

using Subset = std::vector<bool>;  // by node group

std::vector<Subset> all_subsets(int groups) {
  std::vector<Subset> subsets;
  for (unsigned mask = (1U << groups) - 1U; mask > 0; --mask) {
    Subset& subset = subsets.emplace_back(static_cast<std::size_t>(groups));
    for (int g = 0; g < groups; ++g) subset[static_cast<std::size_t>(g)] = ((mask >> g) & 1U) != 0U;
  }
  return subsets;
}

/// All groups, all but one, and one alone.
std::vector<Subset> some_subsets(int groups) {
  const auto size = static_cast<std::size_t>(groups);
  std::vector<Subset> subsets = {Subset(size, true)};
  for (std::size_t g = 0; g < size; ++g) subsets.emplace_back(size, true)[g] = false;
  for (std::size_t g = 0; g < size; ++g) subsets.emplace_back(size, false)[g] = true;
  return subsets;
}

std::string name_of(const Cluster& cluster, const std::string& order, const Subset& subset) {
  std::vector<std::string> left_out;
  for (std::size_t g = 0; g < subset.size(); ++g) {
    if (!subset[g]) left_out.push_back(cluster.groups[g].kind);
  }
  return left_out.empty() ? order : order + " without " + join(left_out);
}

}  // namespace

std::vector<Site> sites_of(const Instance& instance) {
  const Cluster& cluster = instance.cluster;
  const int groups = static_cast<int>(cluster.groups.size());
  const std::vector<DeviceOrder> orders = device_orders(instance);
  std::vector<Site> sites;
  for (const Subset& subset : groups <= most_subset_groups ? all_subsets(groups) : some_subsets(groups)) {
    for (const DeviceOrder& order : orders) {
      Site site = {name_of(cluster, order.name, subset), {}};
      for (const DeviceId device : order.devices) {
        if (subset[static_cast<std::size_t>(cluster.group_of(device))]) site.devices.push_back(device);
      }
      const auto same = [&](const Site& other) { return other.devices == site.devices; };
      if (std::none_of(sites.begin(), sites.end(), same)) sites.push_back(std::move(site));
    }
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [](const Site& a, const Site& b) { return a.devices.size() > b.devices.size(); });
  return sites;
}

}  // namespace pptrain
