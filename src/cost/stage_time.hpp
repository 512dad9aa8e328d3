#pragma once

#include <functional>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Replicas of a stage that take equally long: same device kinds, same slowest link, same samples.
struct ReplicaGroup {
  std::vector<int> kinds;  ///< kinds of the tensor-parallel members, ascending, each once
  Link link;               ///< slowest between two members
  double samples = 0.0;    ///< of a micro-batch
  bool operator==(const ReplicaGroup& other) const;
};

/// The distinct groups of a stage.
std::vector<ReplicaGroup> replica_groups(const Cluster& cluster, const Stage& stage);

/// Seconds of one layer on one device. A degree without rows throws `Error` (exit code 2): a plan
/// from a file may have one.
LayerSeconds device_seconds(const Instance& instance, int kind, int layer, int tensor_parallel, double samples);

/// Seconds of one micro-batch with the tensor-parallel all-reduces: the slowest member counts.
struct PassSeconds {
  double forward = 0.0;
  double backward = 0.0;  ///< B and W, and F again where everything is recomputed
  double total = 0.0;     ///< F + B + W of the slowest member, both all-reduces
};
PassSeconds layer_seconds(const Instance& instance, const ReplicaGroup& group, int layer, int tensor_parallel,
                          Recompute recompute);

/// Sum over an interval of layers.
PassSeconds layers_seconds(const Instance& instance, const ReplicaGroup& group, Interval layers, int tensor_parallel,
                           Recompute recompute);

/// A chunk of the plan: what one stage does between two cuts.
struct Chunk {
  int stage = 0;
  Interval layers;
};
/// The chunks in layer order.
std::vector<Chunk> chunks_in_order(const Plan& plan);

/// Calls `visit(sender, receiver, samples)` for each pair of devices that exchanges data between
/// the two stages: replicas whose sample intervals overlap; at equal degree members of equal shard
/// index, else all with all.
void for_each_pair(const Stage& sender, const Stage& receiver,
                   const std::function<void(DeviceId, DeviceId, double)>& visit);

/// Parameters of an interval of layers.
double parameters_of(const Profile& profile, Interval layers);

/// Bytes per sample that a layer holds between F and W. With full recomputation its input only; what
/// selective recomputation drops is not in the profile, so it counts as none.
double stored_bytes_of(const Profile& profile, std::int64_t layer, Recompute recompute);

/// Gradient bytes that one device of the stage holds of these layers.
double gradient_bytes(const Profile& profile, const Stage& stage, Interval layers);

/// Seconds of the optimizer step of a device of this kind in the stage; ZeRO divides it over the replicas.
double update_seconds(const Instance& instance, const Stage& stage, int kind);

/// The devices of shard `shard` in all replicas of the stage.
std::vector<DeviceId> shard_group(const Stage& stage, int shard);

}  // namespace pptrain
