#pragma once

#include <optional>
#include <vector>

#include "planners/describe/throughput.hpp"

namespace pptrain {

/// What a plan is asked about money, failures and a whole training.
struct CostQuestion {
  std::optional<double> tokens_per_sample;   ///< nothing: samples are no tokens, or nobody says of
                                             ///< how many
  std::optional<double> training_tokens;     ///< that a training is to see
  std::optional<double> checkpoint_seconds;  ///< nothing: the bytes of the state over the cluster's
                                             ///< storage bandwidth
  std::optional<double> restart_seconds;     ///< nothing: as long as a checkpoint takes
  ObjectiveKind objective = ObjectiveKind::time;  ///< what the search made small
};

/// The question of a configuration, whose model does `work`.
CostQuestion cost_question(const Config& config, const ModelWork& work,
                           std::optional<double> training_tokens);

/// Whether each node of the cluster has one of the plan's devices.
std::vector<bool> used_nodes(const Cluster& cluster, const Plan& plan);

/// Bytes of a checkpoint: weights and optimizer state of all parameters once.
double checkpoint_bytes(const Profile& profile);

/// Adds `cost` and `failures` to what is predicted of a plan, which has an iteration. Nodes that
/// the plan uses count as a whole; money, hours and energy have what failures cost where the
/// cluster says how often nodes fail and a checkpoint's time is known. Where nothing is said of
/// money, power and failures, and no training is asked for, neither is added.
void predict_cost(const Instance& instance, const CostQuestion& question, Plan& plan);

/// `cost` in its row for people, and `failures`; "" where nothing is known of them.
std::string cost_text(const CostPrediction& cost);
std::string failures_text(const FailurePrediction& failures);
/// A time in days, of three digits: "12.3 days".
std::string days_text(double seconds);
/// A training on so many tokens: "12.3 days, 590 node-hours, 58000 USD, 3.3 MWh".
std::string training_text(const CostPrediction& cost, bool with_failures);

}  // namespace pptrain
