#include "planners/published/dapple/dapple_rules.hpp"

#include <algorithm>
#include <set>

namespace pptrain {
namespace {

/// Devices of the largest clusters are given out in units of whole nodes, as many of them as leave
/// no more units.
constexpr int most_coarse_units = 2048;

bool power_of_two(int number) { return (number & (number - 1)) == 0; }

/// Numbers of replicas up to `most` for which `allowed` holds.
template <class Allowed>
std::vector<int> replicas_where(int most, const Allowed& allowed) {
  std::vector<int> replicas;
  for (int r = 1; r <= most; ++r) {
    if (allowed(r)) replicas.push_back(r);
  }
  return replicas;
}

}  // namespace

std::vector<PlacementRuleSets> dapple_rules(const SearchSpace& space) {
  const Cluster& cluster = space.instance.cluster;
  const int devices = cluster.num_devices();
  PlacementRules rules;
  if (space.restrictions.data) {
    rules.replicas = {static_cast<int>(*space.restrictions.data)};
    rules.rest = false;
    std::vector<PlacementRuleSets> fixed;
    for (const int started : {0, 2, 1}) {
      rules.most_started_nodes = started;
      fixed.push_back({rules});
    }
    return fixed;
  }
  std::set<int> sizes;
  for (const NodeGroup& group : cluster.groups) sizes.insert(group.num_devices);
  const auto few = [&](int r) { return devices % r == 0 || power_of_two(r); };
  const auto whole = [&](int r) {
    return std::any_of(sizes.begin(), sizes.end(), [r](int size) { return r % size == 0; });
  };
  const auto coarse = [&](int r) {
    return std::any_of(sizes.begin(), sizes.end(), [&](int size) {
      while (devices / size > most_coarse_units) size *= 2;
      return r % size == 0 && power_of_two(r / size);
    });
  };
  const auto most = static_cast<std::int64_t>(devices);
  const int largest = static_cast<int>(std::min(most, space.instance.global_batch_size));
  const std::vector<int> all = replicas_where(largest, [](int) { return true; });
  const std::vector<int> some = replicas_where(largest, [&](int r) { return few(r) || whole(r); });
  std::vector<PlacementRuleSets> sets;
  const auto add = [&](const std::vector<int>& replicas, int most_started_nodes) {
    rules.replicas = replicas;
    rules.most_started_nodes = most_started_nodes;
    sets.push_back({rules});
  };
  add(all, 0);
  add(all, 2);
  add(some, 2);
  add(all, 1);
  add(some, 1);
  add(replicas_where(largest, few), 1);
  add(replicas_where(largest, coarse), 1);
  return sets;
}

}  // namespace pptrain
