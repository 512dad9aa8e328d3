#include "probe/discover.hpp"

#include <array>
#include <map>
#include <vector>

#include "cluster/read.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "probe/busy_links.hpp"
#include "probe/found_cluster.hpp"
#include "probe/link_probe.hpp"
#include "probe/probed_nodes.hpp"
#include "probe/slurm.hpp"
#include "probe/socket.hpp"

namespace pptrain {
namespace {

/// Inside nodes: the slowest of the different links counts, since a group may have any of them.
void measure_inside(LinkProbe& probe, const GpuNeighbours& neighbours, ProbedNode& node) {
  for (const auto& [first, second] : different_pairs(node, neighbours)) {
    const Link link = probe.measure(first, second);
    if (node.link.bandwidth == 0.0 || link.bandwidth < node.link.bandwidth) node.link = link;
  }
}

/// From the first to each other one. A pair is as fast as its slower uplink, so the first one's is
/// at least that of its fastest pair.
std::vector<Link> measure_star(LinkProbe& probe, const std::vector<int>& first_ranks) {
  std::vector<Link> uplinks(first_ranks.size());
  for (std::size_t n = 1; n < first_ranks.size(); ++n) {
    uplinks[n] = probe.measure(first_ranks[0], first_ranks[n]);
    if (uplinks[n].bandwidth > uplinks[0].bandwidth) uplinks[0] = uplinks[n];
  }
  return uplinks;
}

/// All links of the nodes; the uplinks of their hosts.
std::vector<Link> measure_links(LinkProbe& probe, const GpuNeighbours& neighbours,
                                std::vector<ProbedNode>& nodes) {
  for (ProbedNode& node : nodes) measure_inside(probe, neighbours, node);
  const std::vector<std::size_t> starts = host_starts(nodes);
  std::vector<int> first_ranks;
  for (std::size_t h = 0; h + 1 < starts.size(); ++h) {
    first_ranks.push_back(nodes[starts[h]].ranks[0]);
    std::vector<int> of_host;
    for (std::size_t n = starts[h]; n < starts[h + 1]; ++n) of_host.push_back(nodes[n].ranks[0]);
    const std::vector<Link> inside = measure_star(probe, of_host);
    for (std::size_t n = starts[h]; n < starts[h + 1]; ++n) nodes[n].uplink = inside[n - starts[h]];
  }
  std::vector<Link> uplinks = measure_star(probe, first_ranks);
  for (std::size_t h = 0; h + 1 < starts.size(); ++h) {
    if (starts[h + 1] - starts[h] == 1) nodes[starts[h]].uplink = uplinks[h];
  }
  return uplinks;
}

/// The rank that finds the peak rates of a kind of processor: the first of those that compute on
/// one. It alone does, so that containers of one host do not disturb each other, and all nodes of
/// the kind have the same rates.
std::map<std::string, int> speakers_of_processors(const std::vector<ProbedNode>& nodes) {
  std::map<std::string, int> speakers;
  for (const ProbedNode& node : nodes) {
    if (!node.gpu) speakers.try_emplace(node.host.cpu_model, node.ranks.front());
  }
  return speakers;
}

/// Peak rates of processors, and how one GPU of each node reaches its host; all other ranks sleep.
void measure_devices(MPI_Comm world, Waiter& waiter, const ProbedGpu* own,
                     const FindPeakRates& find_peak_rates, std::vector<ProbedNode>& nodes) {
  constexpr std::array<const char*, 3> precisions = {"fp32", "bf16", "fp16"};
  constexpr std::size_t bandwidth = precisions.size(), link = bandwidth + 1, num_values = link + 2;
  const int rank = rank_in(world);
  const std::map<std::string, int> speakers = speakers_of_processors(nodes);
  std::vector<double> mine(num_values, 0.0);
  collectively(world, waiter, [&] {
    for (const auto& [model, speaker] : speakers) {
      if (speaker != rank) continue;
      const PeakRates rates = find_peak_rates();
      for (std::size_t p = 0; p < precisions.size(); ++p) mine[p] = rates.flops.at(precisions[p]);
      mine[bandwidth] = rates.memory_bandwidth;
    }
    for (const ProbedNode& node : nodes) {
      if (node.ranks.front() != rank || own == nullptr) continue;
      const Link host_link = measure_host_link(own->device);
      mine[link] = host_link.bandwidth;
      mine[link + 1] = host_link.latency;
    }
  });
  const std::vector<double> of_ranks = gather_to_all(world, mine, waiter);
  const auto values_of = [&](int r) { return &of_ranks[num_values * static_cast<std::size_t>(r)]; };
  for (ProbedNode& node : nodes) {
    const double* values = values_of(node.ranks.front());
    node.host_link = {values[link], values[link + 1]};
    if (node.gpu) continue;
    const double* rates = values_of(speakers.at(node.host.cpu_model));
    for (std::size_t p = 0; p < precisions.size(); ++p) node.rates.flops[precisions[p]] = rates[p];
    node.rates.memory_bandwidth = rates[bandwidth];
  }
}

/// As the site describes them.
void ask_for_features(std::vector<ProbedNode>& nodes) {
  std::vector<std::string> names;
  for (const ProbedNode& node : nodes) names.push_back(node.host.name);
  const std::map<std::string, std::string> features = slurm_features(names);
  for (ProbedNode& node : nodes) {
    if (const auto found = features.find(node.host.name); found != features.end())
      node.features = found->second;
  }
}

}  // namespace

Discovery discover_cluster(MPI_Comm world, Waiter& waiter, const ProbedGpu* own,
                           const std::string& nvml, const FindPeakRates& find_peak_rates) {
  Discovery discovery;
  discovery.ranks = find_rank_hosts(world, waiter, own);
  discovery.neighbours = find_gpu_neighbours(world, waiter, discovery.ranks, nvml);
  std::vector<ProbedNode> nodes = probed_nodes(discovery.ranks);
  const std::vector<CorePool> pools = device_pools(discovery.ranks, nodes);
  measure_devices(world, waiter, own, find_peak_rates, nodes);
  std::vector<Link> host_uplinks;
  {
    LinkProbe probe(world, waiter, discovery.ranks, own);
    host_uplinks = measure_links(probe, discovery.neighbours, nodes);
  }
  measure_shared_latencies(world, waiter, pools, nodes);
  std::string text;
  if (rank_in(world) == 0) {
    ask_for_features(nodes);
    text = write_cluster(found_cluster(nodes, pools, host_uplinks));
  }
  discovery.cluster = parse_cluster(broadcast(world, text, waiter), "the cluster that was found");
  std::vector<std::optional<int>> sockets;
  for (const RankHost& each : discovery.ranks) sockets.push_back(each.host.socket);
  for (const ProbedNode& node : nodes) {
    discovery.hosts.push_back(node.host);
    const bool is_shared_gpu = node.gpu && pool_of(pools, node).is_shared();
    const std::vector<int> order =
        is_shared_gpu ? node.ranks : socket_by_socket(node.ranks, sockets);
    for (const int r : order) discovery.rank_of_device.emplace_back(r);
  }
  return discovery;
}

}  // namespace pptrain
