#include "probe/busy_links.hpp"

#include <algorithm>

#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "comm/mpi_communicator.hpp"
#include "probe/links.hpp"
#include "probe/message_costs.hpp"

namespace pptrain {
namespace {

std::vector<ProbedNode*> nodes_of_pool(std::vector<ProbedNode>& nodes, const CorePool& pool) {
  std::vector<ProbedNode*> result;
  for (ProbedNode& node : nodes) {
    if (std::binary_search(pool.ranks.begin(), pool.ranks.end(), node.ranks.front()))
      result.push_back(&node);
  }
  return result;
}

/// Who exchanges messages with this rank, and whether this one starts; nobody: -1.
struct Partner {
  int rank = -1;
  bool starts = false;
};

/// The partner of a rank where neighbours in a node are paired.
Partner partner_in(const ProbedNode& node, int rank) {
  const auto position = static_cast<std::size_t>(
      std::find(node.ranks.begin(), node.ranks.end(), rank) - node.ranks.begin());
  const std::size_t other = position ^ 1U;
  return other < node.ranks.size() ? Partner{node.ranks[other], position < other} : Partner{};
}

/// The partner of a rank where equal places in neighbouring nodes are paired.
Partner partner_in(const std::vector<ProbedNode*>& nodes, int rank) {
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

/// What a message takes this rank while others exchange messages too, on all ranks, by rank; 0
/// without a partner.
std::vector<double> busy_latencies(MPI_Comm world, Waiter& waiter, Partner partner) {
  MpiTransport transport(world);
  quiet_barrier(world, waiter);
  return gather_to_all(
      world, {measure_shared_latency(transport, waiter, partner.starts, partner.rank)}, waiter);
}

/// What exchanges cost the cores while others that share them compute and exchange too, on all
/// ranks, by rank; nothing without a partner.
std::vector<ExchangeSeconds> busy_exchanges(MPI_Comm world, Waiter& waiter, Partner partner,
                                            ExchangeOver over) {
  MpiTransport transport(world);
  quiet_barrier(world, waiter);
  const ExchangeSeconds mine = measure_exchanges(transport, waiter, partner.rank, over);
  constexpr std::size_t num_values = 3;
  const std::vector<double> values =
      gather_to_all(world, {mine.one, mine.many, mine.large}, waiter);
  std::vector<ExchangeSeconds> all;
  for (std::size_t i = 0; i < values.size(); i += num_values) {
    all.push_back({values[i], values[i + 1], values[i + 2]});
  }
  return all;
}

/// The cores' costs of messages for all nodes of a pool; inside nodes also the bandwidth, since
/// what others on the machine do changes the wall time of a copy but little of its CPU time.
void set_message_costs(const std::vector<ExchangeSeconds>& exchanges, const CorePool& pool,
                       const std::vector<ProbedNode*>& nodes) {
  std::vector<ExchangeSeconds> of_pool;
  for (const int r : pool.ranks) {
    if (exchanges[r].large > 0.0) of_pool.push_back(exchanges[r]);
  }
  if (of_pool.empty()) return;
  const MessageCosts costs = message_costs(of_pool);
  for (ProbedNode* node : nodes) {
    node->core_seconds = costs.core_seconds;
    if (node->ranks.size() > 1) node->link.bandwidth = costs.copy_bandwidth;
  }
}

}  // namespace

void measure_shared_latencies(MPI_Comm world, Waiter& waiter, const std::vector<CorePool>& pools,
                              std::vector<ProbedNode>& nodes) {
  const auto shares_cores = [&](const CorePool& pool) {
    return pool.is_shared() && !nodes_of_pool(nodes, pool).front()->gpu;
  };
  if (std::none_of(pools.begin(), pools.end(), shares_cores)) return;
  const int rank = rank_in(world);
  Partner inside;
  Partner outside;
  bool alone = true;  // on its node, as all others of its pool
  if (const CorePool& pool = pool_of(pools, rank); shares_cores(pool)) {
    const std::vector<ProbedNode*> members = nodes_of_pool(nodes, pool);
    for (const ProbedNode* node : members) {
      alone = alone && node->ranks.size() == 1;
      if (std::binary_search(node->ranks.begin(), node->ranks.end(), rank))
        inside = partner_in(*node, rank);
    }
    outside = partner_in(members, rank);
  }
  const std::vector<double> inner = busy_latencies(world, waiter, inside);
  const std::vector<double> outer = busy_latencies(world, waiter, outside);
  const std::vector<ExchangeSeconds> exchanges =
      alone ? busy_exchanges(world, waiter, outside, ExchangeOver::network)
            : busy_exchanges(world, waiter, inside, ExchangeOver::memory);
  for (const CorePool& pool : pools) {
    if (shares_cores(pool)) set_message_costs(exchanges, pool, nodes_of_pool(nodes, pool));
  }
  for (ProbedNode& node : nodes) {
    const CorePool& pool = pool_of(pools, node);
    if (!shares_cores(pool)) continue;
    if (node.ranks.size() > 1) node.link.latency = inner[node.ranks.front()];
    double between = 0.0;
    for (const int r : pool.ranks) between = std::max(between, outer[r]);
    if (between > 0.0) node.uplink.latency = between;
  }
}

}  // namespace pptrain
