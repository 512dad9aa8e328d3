#include "probe/discover.hpp"

#include <fmt/format.h>

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
#include "probe/core_pools.hpp"
#include "probe/links.hpp"
#include "probe/socket.hpp"

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

/// The pool of a node's ranks.
const CorePool& pool_of(const std::vector<CorePool>& pools, const Node& node) {
  return pool_of(pools, node.ranks.front());
}

std::vector<Node*> nodes_of_pool(std::vector<Node>& nodes, const CorePool& pool) {
  std::vector<Node*> result;
  for (Node& node : nodes) {
    if (std::binary_search(pool.ranks.begin(), pool.ranks.end(), node.ranks.front())) result.push_back(&node);
  }
  return result;
}

/// Who exchanges messages with this rank, and whether this one starts; nobody: -1.
struct Partner {
  int rank = -1;
  bool starts = false;
};

/// Of neighbours in their node.
Partner partner_in(const Node& node, int rank) {
  const auto position =
      static_cast<std::size_t>(std::find(node.ranks.begin(), node.ranks.end(), rank) - node.ranks.begin());
  const std::size_t other = position ^ 1U;
  return other < node.ranks.size() ? Partner{node.ranks[other], position < other} : Partner{};
}

/// Of equal places in neighbouring nodes.
Partner partner_in(const std::vector<Node*>& nodes, int rank) {
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::vector<int>& ranks = nodes[n]->ranks;
    const auto self = std::find(ranks.begin(), ranks.end(), rank);
    if (self == ranks.end()) continue;
    const auto position = static_cast<std::size_t>(self - ranks.begin());
    const std::size_t other = n ^ 1U;
    if (other >= nodes.size() || position >= nodes[other]->ranks.size()) return {};
    return {nodes[other]->ranks[position], n < other};
  }
  return {};
}

/// What a message takes this rank while others exchange messages too, on all ranks, by rank; 0 without a partner.
std::vector<double> busy_latencies(MPI_Comm world, Waiter& waiter, Partner partner) {
  MpiTransport transport(world);
  quiet_barrier(world, waiter);
  const double mine = measure_shared_latency(transport, waiter, partner.starts, partner.rank);
  quiet_barrier(world, waiter);
  std::vector<double> all(static_cast<std::size_t>(size_of(world)));
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, world);
  return all;
}

/// Replaces latencies between ranks that share cores by what a message takes when all of them are busy: inside nodes,
/// and between nodes of a pool.
void measure_shared_latencies(MPI_Comm world, Waiter& waiter, const std::vector<CorePool>& pools,
                              std::vector<Node>& nodes) {
  if (std::none_of(pools.begin(), pools.end(), [](const CorePool& pool) { return pool.is_shared(); })) return;
  const int rank = rank_in(world);
  Partner inside;
  Partner outside;
  if (const CorePool& pool = pool_of(pools, rank); pool.is_shared()) {
    const std::vector<Node*> members = nodes_of_pool(nodes, pool);
    for (const Node* node : members) {
      if (std::binary_search(node->ranks.begin(), node->ranks.end(), rank)) inside = partner_in(*node, rank);
    }
    outside = partner_in(members, rank);
  }
  const std::vector<double> inner = busy_latencies(world, waiter, inside);
  const std::vector<double> outer = busy_latencies(world, waiter, outside);
  for (Node& node : nodes) {
    const CorePool& pool = pool_of(pools, node);
    if (!pool.is_shared()) continue;
    if (node.ranks.size() > 1) node.link.latency = inner[node.ranks.front()];
    double between = 0.0;
    for (const int r : pool.ranks) between = std::max(between, outer[r]);
    if (between > 0.0) node.uplink.latency = between;
  }
}

void measure_links(MPI_Comm world, Waiter& waiter, const std::vector<CorePool>& pools, std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    if (node.ranks.size() > 1) node.link = measure_pair(world, waiter, node.ranks[0], node.ranks[1]);
  }
  for (std::size_t n = 1; n < nodes.size(); ++n) {
    nodes[n].uplink = measure_pair(world, waiter, nodes[0].ranks[0], nodes[n].ranks[0]);
    // A pair is as fast as its slower uplink, so the first node's is at least its fastest pair's.
    if (nodes[n].uplink.bandwidth > nodes[0].uplink.bandwidth) nodes[0].uplink = nodes[n].uplink;
  }
  measure_shared_latencies(world, waiter, pools, nodes);
}

bool alike(const NodeGroup& a, const NodeGroup& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 0.05 * std::max(x, y); };
  return a.device_kind == b.device_kind && a.num_devices == b.num_devices && a.cores == b.cores &&
         a.core_pool == b.core_pool && near(a.link.bandwidth, b.link.bandwidth) &&
         near(a.uplink.bandwidth, b.uplink.bandwidth);
}

void add_node(Cluster& cluster, const Node& node, const std::vector<CorePool>& pools, bool has_uplink) {
  const CorePool& pool = pool_of(pools, node);
  const auto sharers = static_cast<double>(pool.ranks.size());
  const std::string kind = device_kind_name(node.host.cpu_model);
  const auto known = std::find_if(cluster.device_kinds.begin(), cluster.device_kinds.end(),
                                  [&](const DeviceKind& d) { return d.name == kind; });
  // Ranks share the host's memory, also from several containers; of a kind on several hosts the smallest share counts.
  if (known == cluster.device_kinds.end()) {
    cluster.device_kinds.push_back({kind, node.host.memory_bytes / sharers, {{"fp32", node.flop_rate}}, 0.0});
  } else {
    known->memory = std::min(known->memory, node.host.memory_bytes / sharers);
  }
  NodeGroup group;
  group.kind = node.host.cpu_model;
  group.device_kind = kind;
  group.num_devices = static_cast<int>(node.ranks.size());
  group.link = node.ranks.size() > 1 ? node.link : Link{};
  group.uplink = has_uplink ? node.uplink : Link{};
  if (pool.is_shared()) {
    group.cores = pool.num_cores;
    if (pool.ranks.size() > node.ranks.size()) group.core_pool = fmt::format("pool {}", &pool - pools.data());
  }
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
  const std::vector<CorePool> pools = find_core_pools(world);
  std::vector<Node> nodes = nodes_of(shared_memory_leaders(world));
  // One rank of each host measures its speed, the others sleep.
  double rate = 0.0;
  for (const Node& node : nodes) {
    if (node.ranks.front() == rank) rate = measure_flop_rate();
  }
  quiet_barrier(world, waiter);
  const std::vector<std::string> reports = gather(world, to_json(report_host()), waiter);
  const std::vector<double> rates = gather(world, std::vector<double>{rate}, waiter);
  measure_links(world, waiter, pools, nodes);
  Discovery discovery;
  std::string text;
  nlohmann::json hosts = nlohmann::json::array();
  if (rank == 0) {
    for (Node& node : nodes) {
      node.host = host_report_from_json(reports[node.ranks.front()]);
      node.flop_rate = rates[node.ranks.front()];
      add_node(discovery.cluster, node, pools, nodes.size() > 1);
      hosts.push_back(reports[node.ranks.front()]);
    }
    discovery.cluster.name = nodes.size() == 1 ? nodes.front().host.name : "discovered";
    text = nlohmann::json{{"cluster", write_cluster(discovery.cluster)}, {"hosts", hosts}}.dump();
  }
  const nlohmann::json all = nlohmann::json::parse(broadcast(world, text, waiter));
  discovery.cluster = parse_cluster(all.at("cluster").get<std::string>(), "the cluster that was found");
  for (const auto& host : all.at("hosts")) discovery.hosts.push_back(host_report_from_json(host.get<std::string>()));
  const std::vector<std::optional<int>> sockets = all_sockets(world);
  for (const Node& node : nodes) {
    for (const int r : socket_by_socket(node.ranks, sockets)) discovery.rank_of_device.emplace_back(r);
  }
  return discovery;
}

}  // namespace pptrain
