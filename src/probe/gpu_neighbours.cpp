#include "probe/gpu_neighbours.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "probe/pci_tree.hpp"

namespace pptrain {
namespace {

std::optional<GpuLink> link_to_peer(const GpuReport& own, const std::string& bus_id) {
  const auto peer =
      std::find_if(own.peers.begin(), own.peers.end(),
                   [&](const VisiblePeer& visible) { return visible.bus_id == bus_id; });
  if (peer == own.peers.end()) return std::nullopt;
  switch (peer->access) {
    case PeerAccess::over_nvlink: return GpuLink::nvlink;
    case PeerAccess::over_pcie: return GpuLink::pcie;
    case PeerAccess::none: return GpuLink::through_host;
  }
  return std::nullopt;
}

/// The GPUs of other ranks that this one's GPU has a link to.
std::map<int, GpuLink> own_neighbours(const std::vector<RankHost>& ranks, int own,
                                      const std::string& library) {
  const Nvml nvml(library);
  const PciTree tree;
  if (!nvml.why_not().empty()) log_debug("links between GPUs without NVML: {}", nvml.why_not());
  std::map<int, GpuLink> links;
  const RankHost& self = ranks[static_cast<std::size_t>(own)];
  const std::string& bus_id = self.gpu->info.bus_id;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r) {
    const RankHost& other = ranks[static_cast<std::size_t>(r)];
    if (r == own || other.leader != self.leader || !other.gpu) continue;
    std::optional<GpuLink> link;
    if (self.shares_gpu(other)) link = GpuLink::same_gpu;
    if (!link) link = nvml.link(bus_id, other.gpu->info.bus_id);
    if (!link) link = link_to_peer(*self.gpu, other.gpu->info.bus_id);
    if (!link) link = tree.link(bus_id, other.gpu->info.bus_id);
    links[r] = link.value_or(GpuLink::unknown);
  }
  return links;
}

}  // namespace

GpuNeighbours find_gpu_neighbours(MPI_Comm world, Waiter& waiter,
                                  const std::vector<RankHost>& ranks, const std::string& nvml) {
  if (std::none_of(ranks.begin(), ranks.end(),
                   [](const RankHost& rank) { return rank.gpu.has_value(); })) {
    return GpuNeighbours(ranks.size());
  }
  nlohmann::json own = nlohmann::json::array();
  const int rank = rank_in(world);
  if (ranks[static_cast<std::size_t>(rank)].gpu) {
    for (const auto& [other, link] : own_neighbours(ranks, rank, nvml))
      own.push_back({other, static_cast<int>(link)});
  }
  const nlohmann::json all = gather(world, own.dump(), waiter);
  GpuNeighbours neighbours;
  for (const auto& text : nlohmann::json::parse(broadcast(world, all.dump(), waiter))) {
    std::map<int, GpuLink>& links = neighbours.emplace_back();
    for (const auto& link : nlohmann::json::parse(text.get<std::string>())) {
      links[link.at(0).get<int>()] = static_cast<GpuLink>(link.at(1).get<int>());
    }
  }
  return neighbours;
}

}  // namespace pptrain
