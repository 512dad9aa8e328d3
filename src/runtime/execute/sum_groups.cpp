#include "runtime/execute/sum_groups.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace pptrain {
namespace {

/// a < b.
bool before(const Fraction& a, const Fraction& b) {
  return static_cast<std::int64_t>(a.k) * b.n < static_cast<std::int64_t>(b.k) * a.n;
}

/// The one of `members` equal slices that begins at `begin`, or has it within.
int owner_of(const Fraction& begin, std::int64_t members) {
  return static_cast<int>(static_cast<std::int64_t>(begin.k) * members / begin.n);
}

}  // namespace

SumGroups sum_groups(const Stage& mesh, int shard, const std::vector<int>& nodes) {
  SumGroups groups;
  if (mesh.zero_stage > 0) {
    for (const Interval& group : mesh.sharding_groups()) {
      std::vector<int>& members = groups.emplace_back(static_cast<std::size_t>(group.size()));
      std::iota(members.begin(), members.end(), static_cast<int>(group.begin));
    }
    return groups;
  }
  std::map<int, std::size_t> group_of_node;
  for (int replica = 0; replica < mesh.replicas; ++replica) {
    const DeviceId device =
        mesh.devices[static_cast<std::size_t>(replica)][static_cast<std::size_t>(shard)];
    const auto [group, is_new] =
        group_of_node.try_emplace(nodes.empty() ? 0 : nodes[device.index()], groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(replica);
  }
  if (static_cast<int>(groups.size()) < mesh.replicas) return groups;
  std::vector<int> all(static_cast<std::size_t>(mesh.replicas));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

std::vector<SliceOwners> common_slices(const SumGroups& groups) {
  if (groups.size() == 1) return {};
  std::vector<Fraction> ends;
  for (const std::vector<int>& group : groups) {
    const auto members = static_cast<int>(group.size());
    for (int k = 0; k <= members; ++k) ends.push_back({k, members});
  }
  std::sort(ends.begin(), ends.end(), before);
  const auto equal = [](const Fraction& a, const Fraction& b) {
    return !before(a, b) && !before(b, a);
  };
  ends.erase(std::unique(ends.begin(), ends.end(), equal), ends.end());
  std::vector<SliceOwners> slices;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    SliceOwners& slice = slices.emplace_back(SliceOwners{ends[i], ends[i + 1], {}});
    for (const std::vector<int>& group : groups) {
      slice.replicas.push_back(
          group[static_cast<std::size_t>(owner_of(slice.begin, std::ssize(group)))]);
    }
  }
  return slices;
}

}  // namespace pptrain
