#include "planners/describe/running_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "cluster/node_prices.hpp"
#include "cost/egress.hpp"
#include "cost/goodput.hpp"

namespace pptrain {
namespace {

constexpr double seconds_per_hour = 3600.0;
constexpr double seconds_per_day = 86400.0;

/// Sums over the nodes that a plan uses; nothing where one of them lacks the figure.
struct UsedNodes {
  int nodes = 0;
  std::optional<double> price = 0.0;  // an hour
  std::optional<double> watts = 0.0;
  std::optional<double> failures = 0.0;  // a second

  void add(const NodeGroup& group) {
    ++nodes;
    price = sum(price, group.price);
    const double power = node_watts(group);
    watts = sum(watts, power > 0.0 ? std::optional(power) : std::nullopt);
    failures = sum(failures, group.mtbf > 0.0 ? std::optional(1.0 / group.mtbf) : std::nullopt);
  }

 private:
  static std::optional<double> sum(std::optional<double> so_far, std::optional<double> more) {
    return so_far && more ? std::optional(*so_far + *more) : std::nullopt;
  }
};

UsedNodes sums_of(const Cluster& cluster, const Plan& plan) {
  const std::vector<bool> used = used_nodes(cluster, plan);
  UsedNodes sums;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    if (used[static_cast<std::size_t>(node)]) sums.add(cluster.group_of_node(node));
  }
  return sums;
}

/// Seconds of writing a checkpoint; nothing where nobody says it.
std::optional<double> checkpoint_seconds(const Instance& instance, const CostQuestion& question) {
  if (question.checkpoint_seconds) return question.checkpoint_seconds;
  const double bandwidth = instance.cluster.storage_bandwidth;
  return bandwidth > 0.0 ? std::optional(checkpoint_bytes(instance.profile) / bandwidth)
                         : std::nullopt;
}

std::optional<FailurePrediction> failures_of(const Instance& instance, const CostQuestion& question,
                                             const UsedNodes& nodes, double step_seconds) {
  if (!nodes.failures || *nodes.failures <= 0.0) return std::nullopt;
  FailurePrediction result;
  result.mtbf_seconds = 1.0 / *nodes.failures;
  const std::optional<double> checkpoint = checkpoint_seconds(instance, question);
  if (!checkpoint) return result;
  const FailingTraining training = {result.mtbf_seconds, *checkpoint,
                                    question.restart_seconds.value_or(*checkpoint)};
  constexpr double most_steps = 1e15;
  const double steps =
      std::clamp(best_checkpoint_interval(training) / step_seconds, 1.0, most_steps);
  result.checkpoint_seconds = training.checkpoint;
  result.restart_seconds = training.restart;
  result.interval_steps = std::llround(steps);
  result.interval_seconds = static_cast<double>(result.interval_steps) * step_seconds;
  result.goodput = goodput(training, result.interval_seconds);
  return result;
}

TrainingTotals totals_of(const CostPrediction& cost, double tokens, double seconds) {
  TrainingTotals totals;
  totals.tokens = tokens;
  totals.seconds = seconds;
  totals.node_hours = cost.nodes * seconds / seconds_per_hour;
  if (cost.money_per_billion_tokens) totals.money = *cost.money_per_billion_tokens * tokens / 1e9;
  if (cost.watts) totals.kilowatt_hours = *cost.watts / 1000.0 * seconds / seconds_per_hour;
  return totals;
}

}  // namespace

CostQuestion cost_question(const Config& config, const ModelWork& work,
                           std::optional<double> training_tokens) {
  return {work.tokens_per_sample, training_tokens, config.planner.checkpoint_time,
          config.planner.restart_time, config.planner.objective};
}

std::vector<bool> used_nodes(const Cluster& cluster, const Plan& plan) {
  std::vector<bool> used(static_cast<std::size_t>(cluster.num_nodes()), false);
  for (const Stage& stage : plan.stages) {
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row)
        used[static_cast<std::size_t>(cluster.node_of(device))] = true;
    }
  }
  return used;
}

double checkpoint_bytes(const Profile& profile) {
  double parameters = 0.0;
  for (const ProfileLayer& layer : profile.layers) parameters += layer.parameters;
  return parameters * (profile.bytes_per_parameter.weight + profile.bytes_per_parameter.optimizer);
}

void predict_cost(const Instance& instance, const CostQuestion& question, Plan& plan) {
  Prediction& predicted = *plan.predicted;
  predicted.cost.reset();
  predicted.failures.reset();
  const double step = predicted.iteration_seconds;
  if (step <= 0.0) return;
  const UsedNodes nodes = sums_of(instance.cluster, plan);
  predicted.failures = failures_of(instance, question, nodes, step);
  if (!nodes.price && !nodes.watts && !question.training_tokens) return;
  const double goodput = predicted.failures ? predicted.failures->goodput : 1.0;
  CostPrediction cost;
  cost.nodes = nodes.nodes;
  cost.currency = instance.cluster.currency;
  cost.objective = question.objective;
  cost.money_per_hour = nodes.price;
  cost.watts = nodes.watts;
  if (nodes.price) {
    cost.egress_per_step = egress_money(instance, plan);
    cost.money_per_step = (*nodes.price * step / seconds_per_hour + cost.egress_per_step) / goodput;
  }
  if (question.tokens_per_sample) {
    const double tokens_per_step =
        *question.tokens_per_sample * static_cast<double>(plan.samples_per_step());
    if (cost.money_per_step)
      cost.money_per_billion_tokens = *cost.money_per_step * 1e9 / tokens_per_step;
    if (const auto& tokens = question.training_tokens) {
      cost.training = totals_of(cost, *tokens, *tokens / tokens_per_step * step / goodput);
    }
  }
  predicted.cost = std::move(cost);
}

std::string cost_text(const CostPrediction& cost) {
  if (!cost.money_per_hour) return "";
  std::string text =
      fmt::format("{}/h for {} node{}", format_money(*cost.money_per_hour, cost.currency),
                  cost.nodes, cost.nodes == 1 ? "" : "s");
  if (cost.money_per_billion_tokens) {
    text += fmt::format(", {} per 10^9 tokens",
                        format_money(*cost.money_per_billion_tokens, cost.currency));
  } else {
    text += fmt::format(", {} a step", format_money(*cost.money_per_step, cost.currency));
  }
  if (cost.egress_per_step > 0.0) {
    text += fmt::format(", {} a step for what leaves sites",
                        format_money(cost.egress_per_step, cost.currency));
  }
  return text;
}

std::string failures_text(const FailurePrediction& failures) {
  const std::string often = fmt::format("one in {}", format_seconds(failures.mtbf_seconds));
  if (failures.interval_steps == 0) {
    return often +
           "; storage_bandwidth of the cluster or [planner] checkpoint_time would say what they "
           "cost";
  }
  return fmt::format("{}; goodput {} with a checkpoint of {} every {} ({} steps)", often,
                     format_percent(failures.goodput), format_seconds(failures.checkpoint_seconds),
                     format_seconds(failures.interval_seconds), failures.interval_steps);
}

std::string days_text(double seconds) {
  return fmt::format("{:.3g} days", seconds / seconds_per_day);
}

std::string training_text(const CostPrediction& cost, bool with_failures) {
  const TrainingTotals& training = *cost.training;
  std::string text =
      fmt::format("{}{}, {} node-hours", days_text(training.seconds),
                  with_failures ? " with failures" : "", format_count(training.node_hours));
  if (training.money) text += ", " + format_money(*training.money, cost.currency);
  if (training.kilowatt_hours) text += ", " + format_energy(*training.kilowatt_hours);
  return text;
}

}  // namespace pptrain
