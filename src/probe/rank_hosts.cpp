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

std::vector<RankHost> find_rank_hosts(MPI_Comm world, Waiter& waiter, const ProbedGpu* own) {
  const nlohmann::json report = {
      {"leader", shared_memory_leader(world, waiter)},
      {"host", to_json(report_host())},
      {"gpu", own == nullptr ? "" : to_json(own->report)},
      {"direct", own == nullptr || own->direct == nullptr ? "" : own->direct->name()}};
  const nlohmann::json reports = gather(world, report.dump(), waiter);
  std::vector<RankHost> ranks;
  for (const auto& text : nlohmann::json::parse(broadcast(world, reports.dump(), waiter))) {
    const nlohmann::json json = nlohmann::json::parse(text.get<std::string>());
    RankHost rank = {json.at("leader").get<int>(),
                     host_report_from_json(json.at("host").get<std::string>())};
    const std::string gpu = json.at("gpu");
    if (!gpu.empty()) rank.gpu = gpu_report_from_json(gpu);
    json.at("direct").get_to(rank.direct);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace pptrain
