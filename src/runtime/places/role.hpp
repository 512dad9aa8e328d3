#pragma once

#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "model/model.hpp"
#include "plan/parts.hpp"

namespace pptrain {

/// The rank that drives each device. Device ids are the cluster's, ranks MPI's.
class RankMap {
 public:
  /// rank_of_device[d] drives device d.
  explicit RankMap(std::vector<RankId> rank_of_device)
      : rank_of_device_(std::move(rank_of_device)) {}
  /// Device d on rank d, for n devices.
  static RankMap identity(int n);

  /// Rank that drives a device of the cluster; the number of the device is not checked.
  RankId rank_of(DeviceId device) const { return rank_of_device_[device.index()]; }
  /// Device that a rank drives, found by a search through all of them. A rank that drives none
  /// aborts the program.
  DeviceId device_of(RankId rank) const;
  /// Number of devices in the map, also of those that a plan leaves out.
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

/// The place of a device in a part of its stage: layers that are divided alike (StageParts). A
/// stage without blocks is one part.
struct PartRole {
  StageId stage;
  int index = 0;  ///< of the part in the stage
  Stage mesh;     ///< the division: replicas, tensor_parallel, devices, samples, shards and the
                  ///< stage's choices
  int replica = 0;
  int shard = 0;
  std::vector<ChunkId> chunks;
  std::vector<Interval> layers;  ///< of each of these chunks
  WeightDivision division = WeightDivision::columns;
  Mesh holding;  ///< who has which samples (`StagePart::holding`)

  /// The samples of a micro-batch that this device has of the part.
  Interval samples() const;
  /// Whether the layer, by its number in the model, is one of `layers`.
  bool holds(std::int64_t layer) const;
};

/// A rank's roles in all parts of its stage, in the order of the layers.
std::vector<PartRole> part_roles(const Plan& plan, const Role& role);

}  // namespace pptrain
