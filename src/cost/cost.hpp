#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "cost/collective.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "program/ties.hpp"

namespace pptrain {

/// The tied parameters of a configuration's model, where that is one that pptrain trains.
std::vector<Tie> ties_of(const Config& config, const Profile& profile);

/// The instance that is planned: how fast each layer is, and on what.
///
/// A plan whose degrees the profile does not have on the kinds it uses makes the functions below
/// throw `Error` (exit code 2).
struct Instance {
  const Profile& profile;
  const Cluster& cluster;
  std::int64_t global_batch_size = 0;
  std::vector<Tie> ties = {};  ///< known to the simulator, left out of the closed forms
};

/// Refuses (`Error`, exit code 2) an instance that no plan can be costed for: a device kind of the
/// cluster for which some layer has no row at degree 1.
void check_instance(const Instance& instance, const std::string& source);

/// Seconds of one micro-batch in a stage or a part of one, with tensor-parallel collectives.
struct PassSeconds {
  double forward = 0.0;
  double backward = 0.0;  ///< B and W, and F again with its collectives where everything is
                          ///< recomputed
  double total = 0.0;     ///< F + B + W of the slowest member, all communication
  double tensor = 0.0;    ///< part of `total`: collectives of tensor-parallel groups and of batch
                          ///< norms, re-partition
  double gather = 0.0;    ///< part of `total`: gathering weights that ZeRO stage 3 has spread
  PassSeconds& operator+=(const PassSeconds& other);
};

/// The terms of AMP Eq. 3-5 for one plan. The optimizer step costs nothing here.
struct AmpTerms {
  std::vector<double> stage_seconds;     ///< t_i: F + B + W of one micro-batch, slowest replica
  std::vector<double> cut_seconds;       ///< e_i, one per cut between chunks in layer order
  std::vector<double> gradient_seconds;  ///< all-reduce of stage i, slowest shard group
  std::vector<PassSeconds> stages;       ///< what t_i consists of
  /// Eq. 4: (m-1) max t_i + sum e_i + sum t_i + the largest gradient all-reduce.
  double iteration_seconds = 0.0;
};
AmpTerms amp_terms(const Instance& instance, const Plan& plan);

/// The estimate in parts, as `TimeParts` defines them.
TimeParts time_parts(const Instance& instance, const Plan& plan);
TimeParts time_parts(const AmpTerms& terms, const Plan& plan);

/// DAPPLE Eq. 1-3 over stages and communication stages in line. Of a single stage only that part
/// of the gradient all-reduces counts that is left after the last backward, when layers are
/// reduced one after another as they become ready, last layer first.
double dapple_seconds(const Instance& instance, const Plan& plan);

/// Largest number of micro-batches whose activations a stage holds at once: min(S - i, m) for 1F1B
/// and ZB-H1, min(2(S - i) - 1, m) for DAPPLE's policy B and ZB-H2, else m.
std::int64_t micro_batches_in_flight(const Plan& plan, StageId stage);

/// Bytes needed on each device of the cluster, 0 where the plan uses none: weights, gradients and
/// optimizer state of its layers / n (divided by the replicas as ZeRO says), in-flight
/// micro-batches of samples x stored bytes (with full recomputation the layers' inputs only), and
/// the workspace.
std::vector<double> memory_bytes(const Instance& instance, const Plan& plan);

/// Whether the profile's workspace is part of `fixed_bytes`.
enum class Workspace { counted, left_out };
/// Bytes that each device of the cluster holds all the time, 0 where the plan uses none:
/// `memory_bytes` without activations.
std::vector<double> fixed_bytes(const Instance& instance, const Plan& plan, Workspace workspace);

/// Why the plan does not fit, naming the device, the need and the capacity; empty when it fits.
std::string why_not_fit(const Instance& instance, const Plan& plan);
/// Text for people of the device that lacks most bytes of what it needs, with the need and the
/// capacity; empty when all have room. `need`: bytes of each device of the cluster.
std::string largest_overrun(const Cluster& cluster, const std::vector<double>& need);

/// The longest optimizer step of any device, 0 where the profile knows none. Offloaded optimizer
/// state crosses the host's link both ways first; a device without one throws `Error` (exit code
/// 2).
double longest_update_seconds(const Instance& instance, const Plan& plan);

/// Seconds that each device of the cluster computes in one iteration at its own speed: F, B and W
/// of all micro-batches and the optimizer step.
std::vector<double> device_work_seconds(const Instance& instance, const Plan& plan);

/// Core-seconds of one iteration on each node: the work of its devices and, on nodes whose devices
/// share cores, one copy at the link's bandwidth of every byte they send or reduce (in shared
/// memory a transfer is CPU work), every message and every wait (cost/messages.hpp) at the node's
/// `core_seconds`.
std::vector<double> node_work_seconds(const Instance& instance, const Plan& plan);

/// Bound on `estimates.amp` and `iteration_seconds` of every plan of the instance, whatever its
/// schedule, also one that leaves devices out. For each number of micro-batches the largest of
/// - the whole batch spread over all devices in proportion to their speed, each layer at the fewest
///   device-seconds per sample of any degree and any share of a micro-batch, tensor-parallel
///   all-reduces over the best links included;
/// - the slowest layer, which lies in one stage, for all micro-batches;
/// - forward and backward of one micro-batch through all layers, one after another;
/// and the least of these bounds. `recompute`: what every stage of these plans does; nothing: any.
double lower_bound_seconds(const Instance& instance,
                           std::optional<Recompute> recompute = std::nullopt);

/// What the cores of nodes whose devices share them take for the plan's computation and copies; 0
/// without such nodes.
double core_limit_seconds(const Instance& instance, const Plan& plan);

/// max(`amp` estimate + the longest optimizer step of any device (where the profile knows it),
/// work / cores of each node or pool whose devices share cores). For a profile without update times
/// and a cluster without shared cores it is the `amp` estimate.
double iteration_seconds(const Instance& instance, const Plan& plan);

/// Everything that PLAN.json's `predicted` holds.
Prediction predict(const Instance& instance, const Plan& plan);
/// Everything that PLAN.json's `predicted` holds, where the lower bound is known, or of no
/// interest.
Prediction predict(const Instance& instance, const Plan& plan, double lower_bound_seconds);

}  // namespace pptrain
