#include "runtime/generate/text_division.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "plan/match.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

/// Layers of one part of a stage in one chunk.
struct PlannedLayers {
  Interval layers;
  Stage mesh;
  WeightDivision division;
};

/// The layers of all stages in their order, with how they are divided.
std::vector<PlannedLayers> planned_layers(const Plan& plan) {
  std::vector<PlannedLayers> all;
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (const PartRole& part : part_roles(plan, {StageId(s), 0, 0})) {
      for (const Interval& layers : part.layers) all.push_back({layers, part.mesh, part.division});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.layers.begin < b.layers.begin; });
  return all;
}

/// Neighbours that are divided alike become one.
void append(TextDivision& division, RankedLayers next) {
  if (!division.empty()) {
    RankedLayers joined = next;
    joined.layers = division.back().layers;
    if (joined == division.back()) {
      division.back().layers.end = next.layers.end;
      return;
    }
  }
  division.push_back(std::move(next));
}

}  // namespace

TextDivision shared_by_all(const Model& model, int num_ranks, const std::string& source) {
  for (const auto& [axis, size] : axes_of(model)) {
    if (num_ranks <= size || axis == to_string(ShardAxis::experts))
      continue;  // every rank has columns of each expert
    throw_bad_input(
        {source, fmt::format("was started on {} ranks", num_ranks),
         fmt::format("they share every layer, and the model has {} {}", size, axis),
         fmt::format("start at most {} ranks, or divide the layers by a plan: --plan PLAN.json",
                     size)});
  }
  RankedLayers all;
  all.layers = {0, model.num_layers()};
  all.ranks.resize(static_cast<std::size_t>(num_ranks));
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  return {all};
}

TextDivision first_replica(const Plan& plan, const RankMap& map) {
  TextDivision division;
  for (const PlannedLayers& part : planned_layers(plan)) {
    RankedLayers next = {part.layers, {}, part.mesh.shards, part.division};
    for (const DeviceId device : part.mesh.devices[0])
      next.ranks.push_back(map.rank_of(device).value);
    append(division, std::move(next));
  }
  return division;
}

TextDivision first_replica_alone(const Plan& plan, const Model& model, int num_ranks,
                                 const std::string& source) {
  check_plan_model(plan, model, source);
  std::set<DeviceId> devices;
  for (const PlannedLayers& part : planned_layers(plan)) {
    devices.insert(part.mesh.devices[0].begin(), part.mesh.devices[0].end());
  }
  if (static_cast<int>(devices.size()) > num_ranks) {
    throw_bad_input({source,
                     fmt::format("one replica of the plan is on {} devices, but the job has {} {}",
                                 devices.size(), num_ranks, num_ranks == 1 ? "rank" : "ranks"),
                     "a rank stands for each of them",
                     fmt::format("start it by mpirun -np {}", devices.size())});
  }
  std::vector<RankId> ranks(devices.rbegin()->index() + 1);
  int rank = 0;
  for (const DeviceId device : devices) ranks[device.index()] = RankId(rank++);
  return first_replica(plan, RankMap(ranks));
}

}  // namespace pptrain
