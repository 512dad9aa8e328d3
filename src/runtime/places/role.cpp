#include "runtime/places/role.hpp"

#include "base/error.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

RankMap RankMap::identity(int n) {
  std::vector<RankId> ranks;
  for (int r = 0; r < n; ++r) ranks.emplace_back(r);
  return RankMap(ranks);
}

DeviceId RankMap::device_of(RankId rank) const {
  for (int d = 0; d < size(); ++d) {
    if (rank_of_device_[d] == rank) return DeviceId(d);
  }
  PPTRAIN_ASSERT(false, "rank {} drives no device", rank.value);
  return {};
}

Interval PartRole::samples() const {
  const MeshPlace place = place_in(holding, replica * mesh.tensor_parallel + shard);
  return holding.samples[static_cast<std::size_t>(place.replica)];
}

bool PartRole::holds(std::int64_t layer) const { return contains(layers, layer); }

std::vector<PartRole> part_roles(const Plan& plan, const Role& role) {
  const Stage& stage = plan.stages[role.stage.index()];
  const StageParts parts(stage);
  const std::vector<ChunkPlace> places = chunk_places(plan);
  std::vector<PartRole> roles;
  for (const StagePart& part : parts.all()) {
    const MeshPlace place = place_in(*part.mesh, role.replica * stage.tensor_parallel + role.shard);
    PartRole& own = roles.emplace_back();
    own.stage = role.stage;
    own.index = static_cast<int>(roles.size()) - 1;
    own.mesh = *part.mesh;
    own.replica = place.replica;
    own.shard = place.shard;
    own.holding = *part.holding;
    own.division = part.pattern == TensorPattern::sp2          ? WeightDivision::rows
                   : part.pattern == TensorPattern::all_to_all ? WeightDivision::exchange
                   : divides_experts(part.mesh->shards)        ? WeightDivision::experts
                                                               : WeightDivision::columns;
    for (std::size_t c = 0; c < places.size(); ++c) {
      if (places[c].stage != role.stage) continue;
      for (const Interval& layers : part.layers) {
        if (intersect(layers, places[c].layers).empty()) continue;
        own.chunks.emplace_back(static_cast<int>(c));
        own.layers.push_back(intersect(layers, places[c].layers));
      }
    }
  }
  return roles;
}

std::optional<Role> role_of(const Plan& plan, DeviceId device) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const auto& mesh = plan.stages[s].devices;
    for (int r = 0; r < static_cast<int>(mesh.size()); ++r) {
      for (int k = 0; k < static_cast<int>(mesh[r].size()); ++k) {
        if (mesh[r][k] == device) return Role{StageId(s), r, k};
      }
    }
  }
  return std::nullopt;
}

}  // namespace pptrain
