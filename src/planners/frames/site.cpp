#include "planners/frames/site.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/names.hpp"
#include "planners/divide/device_order.hpp"
#include "planners/frames/frame.hpp"

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

/// The devices of each group in turn, for every order of up to three groups.
std::vector<DeviceOrder> group_orders(const Cluster& cluster) {
  constexpr int most_ordered_groups = 3;
  const int groups = static_cast<int>(cluster.groups.size());
  std::vector<DeviceOrder> orders;
  std::vector<int> turn(static_cast<std::size_t>(groups));
  std::iota(turn.begin(), turn.end(), 0);
  while (groups <= most_ordered_groups && std::next_permutation(turn.begin(), turn.end())) {
    DeviceOrder& order = orders.emplace_back();
    for (const int g : turn) {
      order.name +=
          (order.name.empty() ? "" : ", ") + cluster.groups[static_cast<std::size_t>(g)].kind;
      for (int d = 0; d < cluster.num_devices(); ++d) {
        if (cluster.group_of(DeviceId(d)) == g) order.devices.emplace_back(d);
      }
    }
  }
  return orders;
}

/// The number of each device within its group.
std::vector<int> places_in_groups(const Cluster& cluster) {
  std::vector<int> next(cluster.groups.size(), 0);
  std::vector<int> places;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    places.push_back(next[static_cast<std::size_t>(cluster.group_of(DeviceId(d)))]++);
  }
  return places;
}

class Sites {
 public:
  explicit Sites(const Cluster& cluster) : cluster_(cluster), places_(places_in_groups(cluster)) {}

  /// Adds what a subset of the groups has of an order, `most` devices of each group at most.
  void add(const DeviceOrder& order, const Subset& subset, const std::vector<int>& most) {
    Site site = {name_of(cluster_, order.name, subset), {}};
    for (const DeviceId device : order.devices) {
      const auto group = static_cast<std::size_t>(cluster_.group_of(device));
      if (subset[group] && places_[device.index()] < most[group]) site.devices.push_back(device);
    }
    if (known_.insert(site.devices).second) sites_.push_back(std::move(site));
  }

  /// All sites, the largest first.
  std::vector<Site> take() {
    std::stable_sort(sites_.begin(), sites_.end(), [](const Site& a, const Site& b) {
      return a.devices.size() > b.devices.size();
    });
    return std::move(sites_);
  }

 private:
  const Cluster& cluster_;
  std::vector<int> places_;  // of devices in their groups
  std::vector<Site> sites_;
  std::set<std::vector<DeviceId>> known_;
};

/// Numbers of devices of a group that are worth a search, the largest first: of a small cluster
/// every one, else whole nodes, of many nodes powers of two.
std::vector<int> counts_of(const NodeGroup& group, bool small) {
  constexpr int few_nodes = 4;
  std::vector<int> counts = {group.count * group.num_devices};
  for (int devices = counts.front() - 1; small && devices > 0; --devices) counts.push_back(devices);
  for (int nodes = group.count - 1; !small && nodes > 0; --nodes) {
    if (nodes <= few_nodes || (nodes & (nodes - 1)) == 0)
      counts.push_back(nodes * group.num_devices);
  }
  return counts;
}

/// How many devices of each group sites may have: every choice, or where these are many, fewer
/// devices of one group at a time.
std::vector<std::vector<int>> all_counts(const Cluster& cluster, bool small) {
  constexpr std::size_t most_chosen_groups = 2;
  std::vector<int> whole;
  for (const NodeGroup& group : cluster.groups) whole.push_back(counts_of(group, small).front());
  std::vector<std::vector<int>> all = {whole};
  const bool every = small || cluster.groups.size() <= most_chosen_groups;
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    const std::vector<int> counts = counts_of(cluster.groups[g], small);
    const std::size_t before = every ? all.size() : 1;
    for (std::size_t i = 0; i < before; ++i) {
      for (std::size_t c = 1; c < counts.size(); ++c) {
        std::vector<int>& fewer = all.emplace_back(all[i]);
        fewer[g] = counts[c];
      }
    }
  }
  return all;
}

}  // namespace

std::vector<Site> sites_of(const Instance& instance) {
  const Cluster& cluster = instance.cluster;
  const int groups = static_cast<int>(cluster.groups.size());
  std::vector<DeviceOrder> orders = device_orders(instance);
  for (DeviceOrder& order : group_orders(cluster)) orders.push_back(std::move(order));
  const std::vector<std::vector<int>> counts = all_counts(cluster, is_small(instance));
  Sites sites(cluster);
  for (const Subset& subset :
       groups <= most_subset_groups ? all_subsets(groups) : some_subsets(groups)) {
    for (const DeviceOrder& order : orders) {
      for (const std::vector<int>& most : counts) sites.add(order, subset, most);
    }
  }
  return sites.take();
}

}  // namespace pptrain
