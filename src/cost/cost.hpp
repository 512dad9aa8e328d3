#pragma once

#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// The instance that is planned: how fast each layer is, and on what.
struct Instance {
  const Profile& profile;
  const Cluster& cluster;
  std::int64_t global_batch_size = 0;
};

/// All-reduce of `bytes` in a group, AMP Eq. 3 with latency (COST.md "All-reduce"): a flat ring.
double all_reduce_seconds(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes);

/// The terms of AMP Eq. 3-5 for one plan.
struct AmpTerms {
  std::vector<double> stage_seconds;     ///< t_i: F + B + W of one micro-batch, slowest replica
  std::vector<double> cut_seconds;       ///< e_i, size stages - 1
  std::vector<double> gradient_seconds;  ///< all-reduce of stage i, slowest shard group
  double iteration_seconds = 0.0;        ///< Eq. 4
};
AmpTerms amp_terms(const Instance& instance, const Plan& plan);

/// Largest number of micro-batches whose activations a stage holds at once (COST.md "Memory"):
/// min(S - i, m) for 1F1B, m for GPipe.
std::int64_t micro_batches_in_flight(const Plan& plan, StageId stage);

/// Bytes needed on each device of the cluster (0 where the plan uses none), COST.md "Memory".
std::vector<double> memory_bytes(const Instance& instance, const Plan& plan);

/// Core-seconds of computation of one iteration on each node.
std::vector<double> node_work_seconds(const Instance& instance, const Plan& plan);

/// Bound on the iteration time of every plan of the instance: the whole batch spread over all
/// devices in proportion to speed, each layer at its best row.
double lower_bound_seconds(const Instance& instance);

/// Everything that PLAN.json's `predicted` holds. The iteration is AMP's estimate plus the
/// optimizer step where the profile knows it; where devices share cores (`NodeGroup::cores`) it is
/// not shorter than the node's work divided by its cores.
Prediction predict(const Instance& instance, const Plan& plan);

/// Why the plan does not fit, naming the device, the need and the capacity; empty when it fits.
std::string why_not_fit(const Instance& instance, const Plan& plan);

}  // namespace pptrain
