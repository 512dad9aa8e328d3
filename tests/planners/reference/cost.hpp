#pragma once

// The cost model once more, written plainly and independently of src/cost: loops over devices, rows
// and pairs, no tables and no shortcuts. Slow on purpose; only tests use it.

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"

namespace pptrain::reference {

/// A slowest link: bytes per second and seconds.
struct Path {
  double bandwidth = 0.0;
  double latency = 0.0;
};

/// Between two different devices: the smallest bandwidth and the largest latency on the way.
Path path(const Cluster& cluster, DeviceId a, DeviceId b);

/// The slowest of all pairs of a group.
Path slowest_path(const Cluster& cluster, const std::vector<DeviceId>& group);

/// Flat ring: 2(n-1)/n * bytes / bandwidth + 2(n-1) * latency over the slowest pair; a group of one
/// costs nothing.
double all_reduce(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes);

/// Half an all-reduce.
double all_gather(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes);

/// Seconds of F, and of B with W, of one micro-batch.
struct Seconds {
  double forward = 0.0;
  double backward = 0.0;
  double total() const { return forward + backward; }
};

/// Whether the profile has rows for every layer of every stage on the devices and degrees of the
/// plan.
bool costable(const Profile& profile, const Cluster& cluster, const Plan& plan);

/// A run of neighbouring layers of a stage that are divided alike: a whole stage without blocks is
/// one part.
struct Part {
  Interval layers;
  std::string pattern;  ///< of its tensor-parallel layers
  Recompute recompute = Recompute::none;
  std::vector<std::vector<DeviceId>> devices;  ///< a row per replica, a column per member
  std::vector<Interval> samples;               ///< per replica
  std::vector<double> loads;                   ///< per member, in loads of an even shard
  std::vector<Interval> groups = {};           ///< of replicas that divide what ZeRO divides
  std::vector<Interval> slices = {};           ///< of each replica, where they are not equal

  int num_replicas() const { return static_cast<int>(devices.size()); }
  int degree() const { return static_cast<int>(devices[0].size()); }
  double num_samples(int replica) const { return static_cast<double>(samples[replica].size()); }
  /// Shard `shard` of these replicas.
  std::vector<DeviceId> shard_group(int shard, Interval replicas) const;
  /// Replicas that share the state with this one, itself included, if each had as much as this one.
  double sharers(int replica) const;
  /// The largest slice of the state, in equal ones.
  double largest_slice() const;
};
std::vector<Part> parts_of(const Stage& stage);

/// Sum of `bytes` over the replicas of a shard, in the slowest group and then between the groups:
/// there a node's link carries them all, or where groups are on one node each replica its own
/// slice.
double sum_over_replicas(const Cluster& cluster, const Part& part, int shard, double bytes);

/// One layer on the slowest device of a replica of a part, collectives of its tensor-parallel group
/// included.
Seconds layer_seconds(const Profile& profile, const Cluster& cluster, int layer, const Part& part,
                      int replica);

/// A part's replicas one by one, with the gathers of ZeRO stage 3 where the stage has it.
std::vector<Seconds> replica_seconds(const Profile& profile, const Cluster& cluster,
                                     const Stage& stage, const Part& part);

/// What it takes to pass samples on between two neighbouring parts of a stage, in F and in B.
Seconds repartition_seconds(const Profile& profile, const Cluster& cluster, const Part& before,
                            const Part& after);

/// t_i: the slowest replicas of the parts one after another.
double stage_seconds(const Profile& profile, const Cluster& cluster, const Stage& stage);

/// e_i between two stages.
double cut_seconds(const Profile& profile, const Cluster& cluster, const Stage& from,
                   const Stage& to);

/// The all-reduces of a stage's gradients, part after part, the slowest shard index of each.
double gradient_seconds(const Profile& profile, const Cluster& cluster, const Stage& stage);

/// AMP Eq. 3-5 of a plan whose stages hold one interval of layers each.
double amp(const Profile& profile, const Cluster& cluster, const Plan& plan);

/// A stage or a communication stage of DAPPLE's line.
struct LineStage {
  double forward = 0.0;
  double backward = 0.0;
  double all_reduce = 0.0;
};

/// DAPPLE's line of stages and communication stages.
std::vector<LineStage> dapple_line(const Profile& profile, const Cluster& cluster,
                                   const Plan& plan);

/// DAPPLE's Eq. 3: the pivot stage of a line.
struct Pivot {
  int stage = 0;
  /// Smallest relative difference of two sides that were compared: where it is nearly 0 the sides
  /// are equal but for rounding, and another order of summation may choose another pivot.
  double margin = 1.0;
};
Pivot pivot(const std::vector<LineStage>& line, double micro_batches);

/// DAPPLE Eq. 1-3 of a plan whose stages hold one interval of layers each.
double dapple(const Profile& profile, const Cluster& cluster, const Plan& plan);

/// Bytes that each device of the cluster needs.
std::vector<double> memory(const Profile& profile, const Cluster& cluster, const Plan& plan);

/// Whether every device has the memory it needs.
bool fits(const Profile& profile, const Cluster& cluster, const Plan& plan);

}  // namespace pptrain::reference
