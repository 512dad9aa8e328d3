#include "runtime/role.hpp"

#include "base/error.hpp"

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
