#include "probe/discover.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/timing.hpp"
#include "cluster/read.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "comm/mpi_communicator.hpp"
#include "kernels/gemm.hpp"
#include "probe/links.hpp"

namespace pptrain {
namespace {

/// A host with the ranks on it.
struct Node {
  HostReport host;
  std::vector<int> ranks;
  Link link;
  Link uplink;
  double flop_rate = 0.0;
};

/// Lowest rank of the shared-memory group of every rank, on all ranks.
std::vector<int> leaders(MPI_Comm world) {
  const MpiComm local = MpiComm::shared_memory(world);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  int leader = rank;
  MPI_Bcast(&leader, 1, MPI_INT, 0, local.get());
  std::vector<int> all(size);
  MPI_Allgather(&leader, 1, MPI_INT, all.data(), 1, MPI_INT, world);
  return all;
}

std::vector<Node> nodes_of(const std::vector<int>& leader_of_rank) {
  std::map<int, Node> by_leader;
  for (int r = 0; r < static_cast<int>(leader_of_rank.size()); ++r) by_leader[leader_of_rank[r]].ranks.push_back(r);
  std::vector<Node> nodes;
  for (auto& [leader, node] : by_leader) nodes.push_back(std::move(node));
  return nodes;
}

/// Measures between two ranks while all others sleep, and brings the result to rank 0.
Link measure_pair(MPI_Comm world, Waiter& waiter, int first, int second) {
  const int rank = rank_in(world);
  Link link;
  if (rank == first || rank == second) link = measure_link(world, rank, first, second);
  quiet_barrier(world, waiter);
  double values[2] = {link.bandwidth, link.latency};
  MPI_Bcast(values, 2, MPI_DOUBLE, first, world);
  return {values[0], values[1]};
}

/// Replaces the latency of nodes whose ranks share cores by what a message takes when all of them are busy.
void measure_shared_latencies(MPI_Comm world, Waiter& waiter, std::vector<Node>& nodes) {
  const int rank = rank_in(world);
  MpiTransport transport(world);
  const bool shares = MpiComm::shared_memory(world).size() > report_host().cores;
  quiet_barrier(world, waiter);
  double latency = 0.0;
  for (const Node& node : nodes) {
    const auto self = std::find(node.ranks.begin(), node.ranks.end(), rank);
    if (self == node.ranks.end() || !shares) continue;
    const auto position = static_cast<std::size_t>(self - node.ranks.begin());
    const std::size_t partner = position ^ 1U;
    const int peer = partner < node.ranks.size() ? node.ranks[partner] : -1;
    latency = measure_shared_latency(transport, waiter, position < partner, peer);
  }
  quiet_barrier(world, waiter);
  for (Node& node : nodes) {
    double of_node = latency;
    MPI_Bcast(&of_node, 1, MPI_DOUBLE, node.ranks.front(), world);
    if (of_node > 0.0) node.link.latency = of_node;
  }
}

void measure_links(MPI_Comm world, Waiter& waiter, std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    if (node.ranks.size() > 1) node.link = measure_pair(world, waiter, node.ranks[0], node.ranks[1]);
  }
  measure_shared_latencies(world, waiter, nodes);
  for (std::size_t n = 1; n < nodes.size(); ++n) {
    nodes[n].uplink = measure_pair(world, waiter, nodes[0].ranks[0], nodes[n].ranks[0]);
    // A pair is as fast as its slower uplink, so the first node's is at least its fastest pair's.
    if (nodes[n].uplink.bandwidth > nodes[0].uplink.bandwidth) nodes[0].uplink = nodes[n].uplink;
  }
}

bool alike(const NodeGroup& a, const NodeGroup& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 0.05 * std::max(x, y); };
  return a.device_kind == b.device_kind && a.num_devices == b.num_devices && a.cores == b.cores &&
         near(a.link.bandwidth, b.link.bandwidth) && near(a.uplink.bandwidth, b.uplink.bandwidth);
}

void add_node(Cluster& cluster, const Node& node, bool has_uplink) {
  const auto devices = static_cast<double>(node.ranks.size());
  const std::string kind = device_kind_name(node.host.cpu_model);
  const auto known = std::find_if(cluster.device_kinds.begin(), cluster.device_kinds.end(),
                                  [&](const DeviceKind& d) { return d.name == kind; });
  // Ranks share the host's memory; of a kind on several hosts the smallest share counts.
  if (known == cluster.device_kinds.end()) {
    cluster.device_kinds.push_back({kind, node.host.memory_bytes / devices, {{"fp32", node.flop_rate}}, 0.0});
  } else {
    known->memory = std::min(known->memory, node.host.memory_bytes / devices);
  }
  NodeGroup group;
  group.kind = node.host.cpu_model;
  group.device_kind = kind;
  group.num_devices = static_cast<int>(node.ranks.size());
  group.link = node.ranks.size() > 1 ? node.link : Link{};
  group.uplink = has_uplink ? node.uplink : Link{};
  group.cores = node.host.cores < group.num_devices ? node.host.cores : 0;
  group.hosts = {node.host.name};
  if (!cluster.groups.empty() && alike(cluster.groups.back(), group)) {
    ++cluster.groups.back().count;
    cluster.groups.back().hosts.push_back(node.host.name);
  } else {
    cluster.groups.push_back(group);
  }
}

}  // namespace

double measure_flop_rate() {
  constexpr std::size_t n = 512;
  Arena arena;
  const Tensor a(arena, n, n);
  const Tensor b(arena, n, n);
  const Tensor c(arena, n, n);
  std::fill_n(a.f32(), n * n, 0.5F);
  std::fill_n(b.f32(), n * n, 0.25F);
  double best = 1e9;
  for (int i = 0; i < 4; ++i) {
    const double start = thread_cpu_seconds();
    host_gemm().multiply(Transpose::no, a, Transpose::no, b, c);
    best = std::min(best, thread_cpu_seconds() - start);
  }
  return 2.0 * n * n * n / best;
}

std::string device_kind_name(const std::string& cpu_model) {
  std::string name;
  for (const char c : cpu_model) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-' && c == ' ') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "cpu" : name;
}

Discovery discover_cluster(MPI_Comm world, Waiter& waiter) {
  const int rank = rank_in(world);
  std::vector<Node> nodes = nodes_of(leaders(world));
  // One rank of each host measures its speed, the others sleep.
  double rate = 0.0;
  for (const Node& node : nodes) {
    if (node.ranks.front() == rank) rate = measure_flop_rate();
  }
  quiet_barrier(world, waiter);
  const std::vector<std::string> reports = gather(world, to_json(report_host()));
  const std::vector<double> rates = gather(world, std::vector<double>{rate}, waiter);
  measure_links(world, waiter, nodes);
  Discovery discovery;
  std::string text;
  nlohmann::json hosts = nlohmann::json::array();
  if (rank == 0) {
    for (Node& node : nodes) {
      node.host = host_report_from_json(reports[node.ranks.front()]);
      node.flop_rate = rates[node.ranks.front()];
      add_node(discovery.cluster, node, nodes.size() > 1);
      hosts.push_back(reports[node.ranks.front()]);
    }
    discovery.cluster.name = nodes.size() == 1 ? nodes.front().host.name : "discovered";
    text = nlohmann::json{{"cluster", write_cluster(discovery.cluster)}, {"hosts", hosts}}.dump();
  }
  const nlohmann::json all = nlohmann::json::parse(broadcast(world, text, waiter));
  discovery.cluster = parse_cluster(all.at("cluster").get<std::string>(), "the cluster that was found");
  for (const auto& host : all.at("hosts")) discovery.hosts.push_back(host_report_from_json(host.get<std::string>()));
  for (const Node& node : nodes) {
    for (const int r : node.ranks) discovery.rank_of_device.emplace_back(r);
  }
  return discovery;
}

}  // namespace pptrain
