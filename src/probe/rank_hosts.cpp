#include "probe/rank_hosts.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "comm/collective.hpp"
#include "comm/mpi.hpp"

namespace pptrain {
namespace {

int shared_memory_leader(MPI_Comm world, Waiter& waiter) {
  const MpiComm local = MpiComm::shared_memory(world);
  return std::stoi(broadcast(local.get(), std::to_string(rank_in(world)), waiter));
}

}  // namespace

std::vector<RankHost> find_rank_hosts(MPI_Comm world, Waiter& waiter) {
  const nlohmann::json own = {{"leader", shared_memory_leader(world, waiter)}, {"host", to_json(report_host())}};
  const nlohmann::json reports = gather(world, own.dump(), waiter);
  std::vector<RankHost> ranks;
  for (const auto& text : nlohmann::json::parse(broadcast(world, reports.dump(), waiter))) {
    const nlohmann::json rank = nlohmann::json::parse(text.get<std::string>());
    ranks.push_back({rank.at("leader").get<int>(), host_report_from_json(rank.at("host").get<std::string>())});
  }
  return ranks;
}

}  // namespace pptrain
