#pragma once

#include "planners/meshes/stage_mesh.hpp"

namespace pptrain {

/// Shards of a mesh of rows of `tensor_parallel` devices so that members of unequal speed take
/// equally long (Whale 3.3.1, `split`), within their memory as far as a stage's state of
/// `state_bytes` goes: each axis of the profile in whole units, at least one for each member. A
/// member is as fast as the slowest device in its column. Empty, which is even, where all members
/// are alike, the profile knows no axes, or an axis is too short or the memory too small. Members
/// share experts too where they are to have `whole_experts` and there are enough; else they have
/// columns of each.
Shards uneven_shards(const Instance& instance, int tensor_parallel,
                     const std::vector<DeviceId>& devices, double state_bytes,
                     bool whole_experts = false);

/// Weights, gradients and optimizer state of the whole model.
double whole_state_bytes(const Profile& profile);

}  // namespace pptrain
