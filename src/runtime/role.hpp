#pragma once

#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Which rank drives which device. Device ids are the cluster's, ranks MPI's.
class RankMap {
 public:
  /// rank_of_device[d] drives device d.
  explicit RankMap(std::vector<RankId> rank_of_device) : rank_of_device_(std::move(rank_of_device)) {}
  /// Device d on rank d, for n devices.
  static RankMap identity(int n);

  RankId rank_of(DeviceId device) const { return rank_of_device_[device.index()]; }
  DeviceId device_of(RankId rank) const;
  int size() const { return static_cast<int>(rank_of_device_.size()); }

 private:
  std::vector<RankId> rank_of_device_;
};

/// The place of a device in a plan.
struct Role {
  StageId stage;
  int replica = 0;
  int shard = 0;
};

/// Nothing for a device that the plan leaves out.
std::optional<Role> role_of(const Plan& plan, DeviceId device);

}  // namespace pptrain
