#include "probe/probed_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace pptrain {
namespace {

const RankHost& host_of(const std::vector<RankHost>& ranks, int rank) {
  return ranks[static_cast<std::size_t>(rank)];
}

bool alike(const std::optional<GpuReport>& gpu, const std::optional<GpuInfo>& other) {
  return gpu ? other && gpu->info.name == other->name : !other;
}

ProbedNode& node_of(std::vector<ProbedNode>& nodes, const RankHost& rank) {
  for (ProbedNode& node : nodes) {
    if (node.leader == rank.leader && alike(rank.gpu, node.gpu)) return node;
  }
  ProbedNode& node = nodes.emplace_back();
  node.host = rank.host;
  if (rank.gpu) node.gpu = rank.gpu->info;
  node.leader = rank.leader;
  return node;
}

int num_sharers(const std::vector<RankHost>& ranks, const RankHost& of) {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(),
                                        [&](const RankHost& rank) { return rank.shares_gpu(of); }));
}

/// Ranks whose GPU nobody before them has come first: as many as there are GPUs work beside each
/// other undisturbed.
void put_first_users_first(const std::vector<RankHost>& ranks, std::vector<int>& of_node) {
  std::map<std::string, int> users;
  std::map<int, int> turn;
  for (const int r : of_node) turn[r] = users[host_of(ranks, r).gpu->info.uuid]++;
  std::stable_sort(of_node.begin(), of_node.end(), [&](int a, int b) { return turn[a] < turn[b]; });
}

}  // namespace

std::vector<ProbedNode> probed_nodes(const std::vector<RankHost>& ranks) {
  std::vector<ProbedNode> nodes;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r)
    node_of(nodes, host_of(ranks, r)).ranks.push_back(r);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const ProbedNode& a, const ProbedNode& b) { return a.leader < b.leader; });
  for (ProbedNode& node : nodes) {
    if (!node.gpu) continue;
    put_first_users_first(ranks, node.ranks);
    node.memory_bytes = node.gpu->memory_bytes;
    for (const int r : node.ranks) {
      const RankHost& rank = host_of(ranks, r);
      const double sharers = num_sharers(ranks, rank);
      const double usable = usable_bytes(rank.gpu->info) / sharers;
      if (usable >= node.memory_bytes) continue;
      node.memory_bytes = usable;
      node.reserve_bytes = rank.gpu->info.memory_bytes / sharers - usable;
    }
  }
  return nodes;
}

std::vector<std::size_t> host_starts(const std::vector<ProbedNode>& nodes) {
  std::vector<std::size_t> starts;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (n == 0 || nodes[n].leader != nodes[n - 1].leader) starts.push_back(n);
  }
  starts.push_back(nodes.size());
  return starts;
}

std::vector<CorePool> device_pools(const std::vector<RankHost>& ranks,
                                   const std::vector<ProbedNode>& nodes) {
  std::map<std::string, int> number_of_gpu;
  std::vector<RankCores> cores(ranks.size());
  for (const ProbedNode& node : nodes) {
    const int key = *std::min_element(node.ranks.begin(), node.ranks.end());
    for (const int r : node.ranks) {
      const RankHost& rank = host_of(ranks, r);
      RankCores& own = cores[static_cast<std::size_t>(r)];
      own = {key, rank.host.kernel, rank.host.cores};
      if (!rank.gpu) continue;
      const int next = static_cast<int>(number_of_gpu.size());
      own.kernel = "GPUs";
      own.cores = {number_of_gpu.try_emplace(rank.gpu->info.uuid, next).first->second};
    }
  }
  return core_pools(cores);
}

const CorePool& pool_of(const std::vector<CorePool>& pools, const ProbedNode& node) {
  return pool_of(pools, node.ranks.front());
}

double usable_bytes(const GpuInfo& gpu) {
  // NCCL takes 4 MiB (NCCL_BUFFSIZE) for each channel and peer, up to 32 channels; cuBLASLt's
  // workspace has 32 MiB.
  constexpr double most_reserved = 1073741824.0;
  constexpr double largest_part = 1.0 / 16.0;
  constexpr double step = 64.0 * 1048576.0;  // so that two runs find the same
  const double reserved = std::min(most_reserved, largest_part * gpu.memory_bytes);
  return std::max(step, std::floor((gpu.free_bytes - reserved) / step) * step);
}

std::vector<std::pair<int, int>> different_pairs(const ProbedNode& node,
                                                 const GpuNeighbours& neighbours) {
  std::vector<std::pair<int, int>> pairs;
  if (!node.gpu) {
    if (node.ranks.size() > 1) pairs.emplace_back(node.ranks[0], node.ranks[1]);
    return pairs;
  }
  std::set<GpuLink> seen;
  for (std::size_t i = 0; i < node.ranks.size(); ++i) {
    for (std::size_t j = i + 1; j < node.ranks.size(); ++j) {
      const std::map<int, GpuLink>& links = neighbours[static_cast<std::size_t>(node.ranks[i])];
      const auto link = links.find(node.ranks[j]);
      if (seen.insert(link == links.end() ? GpuLink::unknown : link->second).second) {
        pairs.emplace_back(node.ranks[i], node.ranks[j]);
      }
    }
  }
  return pairs;
}

}  // namespace pptrain
