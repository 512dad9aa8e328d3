#include "probe/discover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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
#include "probe/message_costs.hpp"
#include "probe/rank_hosts.hpp"
#include "probe/slurm.hpp"
#include "probe/socket.hpp"

namespace pptrain {
namespace {

/// A host with the ranks on it.
struct Node {
  HostReport host;
  std::vector<int> ranks;
  Link link;
  Link uplink;
  CoreSeconds core_seconds;
  double flop_rate = 0.0;
  std::string features;  ///< that Slurm gives it
};

std::vector<Node> nodes_of(const std::vector<RankHost>& ranks) {
  std::map<int, Node> by_leader;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r) by_leader[ranks[r].leader].ranks.push_back(r);
  std::vector<Node> nodes;
  for (auto& [leader, node] : by_leader) {
    node.host = ranks[node.ranks.front()].host;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

/// Measures between two ranks while all others sleep, and brings the result to all.
Link measure_pair(MPI_Comm world, Waiter& waiter, int first, int second) {
  const int rank = rank_in(world);
  Link link;
  if (rank == first || rank == second) link = measure_link(world, rank, first, second);
  const std::vector<double> of_ranks = gather_to_all(world, {link.bandwidth, link.latency}, waiter);
  return {of_ranks[2 * first], of_ranks[2 * first + 1]};
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
  return gather_to_all(world, {measure_shared_latency(transport, waiter, partner.starts, partner.rank)}, waiter);
}

/// What exchanges cost the cores while others that share them compute and exchange too, on all ranks, by rank; nothing
/// without a partner.
std::vector<ExchangeSeconds> busy_exchanges(MPI_Comm world, Waiter& waiter, Partner partner, ExchangeOver over) {
  MpiTransport transport(world);
  quiet_barrier(world, waiter);
  const ExchangeSeconds mine = measure_exchanges(transport, waiter, partner.rank, over);
  constexpr std::size_t num_values = 3;
  const std::vector<double> values = gather_to_all(world, {mine.one, mine.many, mine.large}, waiter);
  std::vector<ExchangeSeconds> all;
  for (std::size_t i = 0; i < values.size(); i += num_values) {
    all.push_back({values[i], values[i + 1], values[i + 2]});
  }
  return all;
}

/// The cores' costs of messages for all nodes of a pool; inside nodes also the bandwidth, since what others on the
/// machine do changes the wall time of a copy but little of its CPU time.
void set_message_costs(const std::vector<ExchangeSeconds>& exchanges, const CorePool& pool,
                       const std::vector<Node*>& nodes) {
  std::vector<ExchangeSeconds> of_pool;
  for (const int r : pool.ranks) {
    if (exchanges[r].large > 0.0) of_pool.push_back(exchanges[r]);
  }
  if (of_pool.empty()) return;
  const MessageCosts costs = message_costs(of_pool);
  for (Node* node : nodes) {
    node->core_seconds = costs.core_seconds;
    if (node->ranks.size() > 1) node->link.bandwidth = costs.copy_bandwidth;
  }
}

/// Replaces latencies between ranks that share cores by what a message takes when all of them are busy: inside nodes,
/// and between nodes of a pool; and measures what messages cost the cores.
void measure_shared_latencies(MPI_Comm world, Waiter& waiter, const std::vector<CorePool>& pools,
                              std::vector<Node>& nodes) {
  if (std::none_of(pools.begin(), pools.end(), [](const CorePool& pool) { return pool.is_shared(); })) return;
  const int rank = rank_in(world);
  Partner inside;
  Partner outside;
  bool alone = true;  // on its node, as all others of its pool
  if (const CorePool& pool = pool_of(pools, rank); pool.is_shared()) {
    const std::vector<Node*> members = nodes_of_pool(nodes, pool);
    for (const Node* node : members) {
      alone = alone && node->ranks.size() == 1;
      if (std::binary_search(node->ranks.begin(), node->ranks.end(), rank)) inside = partner_in(*node, rank);
    }
    outside = partner_in(members, rank);
  }
  const std::vector<double> inner = busy_latencies(world, waiter, inside);
  const std::vector<double> outer = busy_latencies(world, waiter, outside);
  const std::vector<ExchangeSeconds> exchanges = alone ? busy_exchanges(world, waiter, outside, ExchangeOver::network)
                                                       : busy_exchanges(world, waiter, inside, ExchangeOver::memory);
  for (const CorePool& pool : pools) {
    if (pool.is_shared()) set_message_costs(exchanges, pool, nodes_of_pool(nodes, pool));
  }
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
  return a.kind == b.kind && a.switch_name == b.switch_name && a.device_kind == b.device_kind &&
         a.num_devices == b.num_devices && a.cores == b.cores && a.core_pool == b.core_pool &&
         near(a.link.bandwidth, b.link.bandwidth) && near(a.uplink.bandwidth, b.uplink.bandwidth);
}

/// The switches above a node, from the top: each but the first hangs below the one before it. Their links are not
/// known, so they limit nothing, but who describes the cluster to a planner may add them.
void add_switches(Cluster& cluster, const std::vector<std::string>& names) {
  for (std::size_t i = 1; i < names.size(); ++i) {
    const bool known = std::any_of(cluster.switches.begin(), cluster.switches.end(),
                                   [&](const Switch& s) { return s.name == names[i]; });
    if (!known) cluster.switches.push_back({names[i], {}, names[i - 1]});
  }
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
  group.kind = node.features.empty() ? node.host.cpu_model : node.features;
  group.device_kind = kind;
  group.num_devices = static_cast<int>(node.ranks.size());
  group.link = node.ranks.size() > 1 ? node.link : Link{};
  group.uplink = has_uplink ? node.uplink : Link{};
  if (has_uplink && !node.host.switches.empty()) {
    group.switch_name = node.host.switches.back();
    add_switches(cluster, node.host.switches);
  }
  if (pool.is_shared()) {
    group.cores = pool.num_cores;
    group.core_seconds = node.core_seconds;
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

/// As the site describes them.
void ask_for_features(std::vector<Node>& nodes) {
  std::vector<std::string> names;
  for (const Node& node : nodes) names.push_back(node.host.name);
  const std::map<std::string, std::string> features = slurm_features(names);
  for (Node& node : nodes) {
    if (const auto found = features.find(node.host.name); found != features.end()) node.features = found->second;
  }
}

Cluster cluster_of(const std::vector<Node>& nodes, const std::vector<CorePool>& pools) {
  Cluster cluster;
  cluster.name = nodes.size() == 1 ? nodes.front().host.name : "discovered";
  for (const Node& node : nodes) add_node(cluster, node, pools, nodes.size() > 1);
  return cluster;
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
  const std::vector<RankHost> ranks = find_rank_hosts(world, waiter);
  const std::vector<CorePool> pools = core_pools_of(ranks);
  std::vector<Node> nodes = nodes_of(ranks);
  // One rank of each host measures its speed, the others sleep.
  double rate = 0.0;
  for (const Node& node : nodes) {
    if (node.ranks.front() == rank) rate = measure_flop_rate();
  }
  const std::vector<double> rates = gather_to_all(world, {rate}, waiter);
  for (Node& node : nodes) node.flop_rate = rates[node.ranks.front()];
  measure_links(world, waiter, pools, nodes);
  std::string text;
  if (rank == 0) {
    ask_for_features(nodes);
    text = write_cluster(cluster_of(nodes, pools));
  }
  Discovery discovery;
  discovery.cluster = parse_cluster(broadcast(world, text, waiter), "the cluster that was found");
  std::vector<std::optional<int>> sockets;
  for (const RankHost& each : ranks) sockets.push_back(each.host.socket);
  for (const Node& node : nodes) {
    discovery.hosts.push_back(node.host);
    for (const int r : socket_by_socket(node.ranks, sockets)) discovery.rank_of_device.emplace_back(r);
  }
  return discovery;
}

}  // namespace pptrain
