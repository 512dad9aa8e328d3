#pragma once

#include <functional>
#include <vector>

#include "cost/cost.hpp"
#include "plan/parts.hpp"

namespace pptrain {

/// Replicas of a stage that take equally long: same device kinds, same slowest link, same samples.
struct ReplicaGroup {
  std::vector<int> kinds;          ///< kinds of the tensor-parallel members, ascending, each once
  Link link;                       ///< slowest between two members
  double samples = 0.0;            ///< of a micro-batch
  std::vector<double> loads = {};  ///< largest `member_load` of each kind; empty: 1
  bool operator==(const ReplicaGroup& other) const;
};

/// What a member computes of each layer of a part, at the part's `computed_degree`: the layer for
/// so many samples of a micro-batch, `load` times.
struct MemberWork {
  double samples = 0.0;
  double load = 1.0;  ///< `member_load`; 1 where it is in the samples
};

/// The work of a member. A member that rows are sent to computes for the samples whose rows come,
/// if rows go to all experts alike, or for its own where these are more.
MemberWork member_work(const StagePart& part, int replica, int member);

/// One replica of a part. Where members compute for different samples these are the most, and loads
/// are parts of it.
ReplicaGroup replica_group(const Cluster& cluster, const StagePart& part, int replica);

/// The distinct groups of a part, or of a stage without blocks.
std::vector<ReplicaGroup> replica_groups(const Cluster& cluster, const StagePart& part);
std::vector<ReplicaGroup> replica_groups(const Cluster& cluster, const Stage& stage);

/// Seconds of one layer on one device. A degree without rows throws `Error` (exit code 2): a plan
/// from a file may have one.
LayerSeconds device_seconds(const Instance& instance, int kind, int layer, int tensor_parallel,
                            double samples);

/// What member `member` of each tensor-parallel group holds, over what it holds when the shards are
/// even: n times its share, the largest of those of the axes in `shards`.
double member_load(const Mesh& mesh, int member);

/// One micro-batch of one layer: the slowest member counts.
PassSeconds layer_seconds(const Instance& instance, const ReplicaGroup& group, int layer,
                          int tensor_parallel, Recompute recompute,
                          TensorPattern pattern = TensorPattern::megatron);

/// Sum over an interval of layers.
PassSeconds layers_seconds(const Instance& instance, const ReplicaGroup& group, Interval layers,
                           int tensor_parallel, Recompute recompute,
                           TensorPattern pattern = TensorPattern::megatron);

/// What a tensor-parallel group adds to F and to B of a layer for `samples`; nothing for n = 1.
/// Patterns sp1 and sp2 are those of Whale's Figure 6 (see docs/cost.md).
struct TensorSeconds {
  double forward = 0.0;
  double backward = 0.0;
};
TensorSeconds tensor_seconds(const Profile& profile, const Link& link, int layer, int n,
                             double samples, TensorPattern pattern);

/// How the members of a group divide a layer by Whale's rule: as the profile does where it
/// all-reduces something, else by the pattern, sp1 or sp2, that communicates less.
TensorPattern least_communication(const Profile& profile, const Link& link, int layer, int n,
                                  double samples);

/// What the batch norms of a layer add to F and to B of a micro-batch over a link between
/// `replicas`: each gathers the mean and the squares of its channels, and sums as much in B.
TensorSeconds batch_norm_seconds(const Profile& profile, const Link& link, int layer, int replicas);
/// What the batch norms of all layers of a part add to F and to B of a micro-batch, over the
/// slowest link between replicas of a shard; with recomputation F comes twice.
TensorSeconds batch_norm_seconds(const Instance& instance, const StagePart& part);

/// One part of a stage: its slowest replica, and with ZeRO stage 3 the gathering of the weights.
PassSeconds part_seconds(const Instance& instance, const StagePart& part);

/// All-to-alls of a layer whose rows go to experts: in F numbers of rows, choices, rows and what
/// comes of them, in B all but the numbers.
inline constexpr TensorSeconds exchange_steps = {4.0, 3.0};

/// Seconds of F and of B in which rows go to the members with their experts and back, of the
/// slowest group of a part; nothing where they do not.
TensorSeconds exchange_seconds(const Instance& instance, const StagePart& part);

/// Going from one division of a stage to the next, before layer `boundary.layer`: activations in F,
/// their gradients in B, over the slowest link between any two devices of the stage.
PassSeconds repartition_seconds(const Instance& instance, const StageParts::Boundary& boundary);

/// Chunks of a stage for one micro-batch: parts wait for one another, as they exchange samples.
PassSeconds stage_seconds(const Instance& instance, const StageParts& parts);

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
void for_each_pair(const Mesh& sender, const Mesh& receiver,
                   const std::function<void(DeviceId, DeviceId, double)>& visit);

/// Parameters of an interval of layers.
double parameters_of(const Profile& profile, Interval layers);

/// Bringing together the weights that ZeRO stage 3 has spread over the replicas: once before F and
/// once before B; 0 below that stage.
double gather_seconds(const Instance& instance, const StagePart& part);

/// Bytes per sample that a layer holds between F and W. With full recomputation its input only;
/// what selective recomputation drops is not in the profile, so it counts as none.
double stored_bytes_of(const Profile& profile, std::int64_t layer, Recompute recompute);

/// Gradient bytes that one device of the mesh holds of these layers when the shards are even.
double gradient_bytes(const Profile& profile, const Stage& mesh, Interval layers);

/// Bytes of the gradients of these layers as one device of the mesh sends them to other replicas,
/// when the shards are even.
double sent_gradient_bytes(const Profile& profile, const Stage& mesh, Interval layers);

/// The slowest all-reduce between the replicas of any shard of the mesh, of `bytes` when the shards
/// are even; in two levels (replica_sum.hpp) where ZeRO divides in groups.
double shards_all_reduce_seconds(const Cluster& cluster, const Stage& mesh, double bytes);

/// All-reduces of all gradients of the parts, one per part, one after another.
double gradient_seconds(const Instance& instance, const StageParts& parts);

/// What is left of the parts' gradient all-reduces after the stage's last backward when layers are
/// reduced one after another as their gradients become ready, last layer first.
double gradient_seconds_left(const Instance& instance, const StageParts& parts);

/// Seconds of the optimizer step of a device of this kind in the stage; ZeRO divides it over the
/// replicas.
double update_seconds(const Instance& instance, const StageParts& parts, int kind);

/// Seconds of the optimizer step of a certain device of the stage, with offloaded optimizer state
/// in from its host and out again.
double step_seconds(const Instance& instance, const StageParts& parts, const Stage& stage,
                    DeviceId device);

/// Bytes that the step holds of offloaded optimizer state, two chunks of it (cost/offload.hpp); 0
/// where none is.
double step_bytes(const Instance& instance, const StageParts& parts, const Stage& stage,
                  DeviceId device);

/// What the layers of a part store of a micro-batch, one way between a replica's slowest device and
/// its host.
double activation_offload_seconds(const Instance& instance, const StagePart& part, int replica);

/// Bytes of weights, gradients and optimizer state per parameter on one device of the mesh: ZeRO
/// divides them by the replicas that share them, offload keeps the optimizer state on the host.
double bytes_per_parameter(const BytesPerParameter& bytes, const Stage& mesh, double sharers);
/// Bytes of weights, gradients and optimizer state per parameter on one device of the mesh, where
/// fewest replicas share them.
double bytes_per_parameter(const BytesPerParameter& bytes, const Stage& mesh);

/// The devices of shard `shard` in all replicas of the stage.
std::vector<DeviceId> shard_group(const Mesh& stage, int shard);
/// The devices of shard `shard` in some of the replicas of the stage.
std::vector<DeviceId> shard_group(const Mesh& stage, int shard, const Interval& replicas);

}  // namespace pptrain
