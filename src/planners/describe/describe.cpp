#include "planners/describe/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/text_table.hpp"
#include "base/units.hpp"
#include "cluster/peak_rate.hpp"
#include "plan/used_devices.hpp"
#include "planners/describe/describe_alternatives.hpp"
#include "planners/describe/describe_stages.hpp"
#include "planners/describe/describe_summary.hpp"
#include "planners/judge/rank_correlation.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

/// What AMP's formula consists of, and what the prediction has beside it. Shares are those of the
/// formula's time: with a schedule that it does not know the bubble that it counts may be longer
/// than all of the predicted iteration.
std::string formula_text(const Prediction& prediction) {
  constexpr int width = 20;
  const TimeParts& parts = prediction.parts;
  const double whole = parts.sum();
  const double rest = prediction.iteration_seconds - whole;
  const auto counts = [&](double seconds) { return std::abs(seconds) > 1e-9 * whole; };
  Rows rows;
  const auto add = [&](const char* name, double seconds) {
    if (!counts(seconds)) return;
    const double part = seconds / whole;
    rows.push_back({"  " + std::string(name), format_seconds(seconds), format_percent(part),
                    bar(part, width)});
  };
  add("compute of the slowest stage", parts.compute);
  add("bubble", parts.bubble);
  add("pipeline communication", parts.pipeline_communication);
  add("tensor communication", parts.tensor_communication);
  add("parameter gathers", parts.parameter_gathers);
  add("gradient synchronization", parts.gradient_synchronization);
  if (rows.empty()) return "";
  if (counts(rest)) {
    const char* name = rest > 0.0 ? "  contention and optimizer step" : "  hidden by overlap";
    rows.push_back(
        {name, fmt::format("{}{}", rest > 0.0 ? "+" : "-", format_seconds(std::abs(rest)))});
  }
  const auto dapple = prediction.estimates.find("dapple");
  const std::string other = dapple == prediction.estimates.end()
                                ? ""
                                : fmt::format("; DAPPLE's: {}", format_seconds(dapple->second));
  return fmt::format("closed-form estimate (AMP): {}{}\n", format_seconds(whole), other) +
         align(rows);
}

/// How far from the optimum the plan can be. The bound holds for AMP's estimate too, which knows
/// nothing of shared cores; where there are some it says little, and no ratio is made of it.
std::string bound_text(const Prediction& prediction, const Cluster& cluster) {
  const std::string bound = format_seconds(prediction.lower_bound_seconds);
  const bool shares = std::any_of(cluster.groups.begin(), cluster.groups.end(),
                                  [](const NodeGroup& group) { return group.shares_cores(); });
  if (shares)
    return fmt::format("  no plan can take less than {} (ideal: one core per device)\n", bound);
  return fmt::format("  no plan can take less than {}: this one takes {:.3g} times that\n", bound,
                     prediction.iteration_seconds / prediction.lower_bound_seconds);
}

/// Where the two forms disagree by far it is because of uplinks, which the simulator shares.
std::string contention_text(const Prediction& prediction) {
  constexpr double worth_telling = 1.25;
  const double dapple = prediction.estimates.at("dapple");
  if (prediction.basis == PredictionBasis::simulation) return "";
  if (dapple < worth_telling * prediction.iteration_seconds) return "";
  return fmt::format(
      "  transfers share the nodes' uplinks, which AMP's formula does not know: it may take {}\n",
      format_seconds(dapple));
}

std::string prediction_text(const Prediction& prediction, const Cluster& cluster) {
  std::string text =
      fmt::format("  predicted iteration {}{}, {}\n", format_seconds(prediction.iteration_seconds),
                  prediction.basis == PredictionBasis::simulation ? " by simulation" : "",
                  computing_text(prediction.bubble_fraction));
  if (prediction.lower_bound_seconds > 0.0) text += bound_text(prediction, cluster);
  return text;
}

/// "zeropp of 2 chunks per stage, units of 4"
std::string schedule_text(const ScheduleChoice& schedule) {
  std::string text = schedule.name;
  if (schedule.virtual_stages > 1)
    text += fmt::format(" of {} chunks per stage", schedule.virtual_stages);
  if (schedule.unit > 0) text += fmt::format(", units of {}", schedule.unit);
  return text;
}

/// The plan's stages in the order of other schedules.
std::string schedules_text(const Plan& plan) {
  Rows rows;
  for (const ScheduleAlternative& other : plan.schedules) {
    if (!other.iteration_seconds) {
      rows.push_back(
          {"  " + schedule_text(other.schedule), "-", "", "does not fit: " + other.why_not});
      continue;
    }
    rows.push_back(
        {"  " + schedule_text(other.schedule), format_seconds(*other.iteration_seconds),
         fmt::format("{:.2f} x", *other.iteration_seconds / plan.predicted->iteration_seconds)});
  }
  return "other schedules\n" + align(rows);
}

/// How far the closed forms can be trusted to rank plans.
std::string correlations_text(const RankCorrelations& correlations) {
  std::string text =
      fmt::format("rank correlation with the simulator (1: the same order), over {} plans\n",
                  correlations.num_plans);
  Rows rows;
  for (const char* form : {"amp", "dapple", "pipedream"}) {
    std::vector<std::string> names;
    for (const auto& planner : published_planners()) {
      if (planner->form() == form) names.push_back(planner->name());
    }
    const auto found = correlations.forms.find(form);
    rows.push_back({std::string("  ") + form,
                    found == correlations.forms.end() ? "-" : fmt::format("{:.3f}", found->second),
                    "minimised by " + join(names)});
  }
  return text + align(rows);
}

/// One sentence for each kind of node, or pool of nodes, on which devices of the plan share cores.
std::string shared_cores_text(const Plan& plan, const Cluster& cluster) {
  const std::vector<int> sharers =
      used_core_sharers(cluster, used_devices(plan, cluster.num_devices()));
  std::string text;
  std::set<std::string> pools;
  auto first = sharers.begin();
  for (const NodeGroup& group : cluster.groups) {
    const auto [fewest, most] = std::minmax_element(first, first + group.count);
    first += group.count;
    const bool pooled = !group.core_pool.empty();
    if (group.cores == 0 || *most <= group.cores) continue;
    if (pooled && !pools.insert(group.core_pool).second) continue;
    const bool named = group.count == 1 && group.hosts.size() == 1;
    const std::string node =
        (group.count > 1 ? "each node " : "node ") + (named ? group.hosts.front() : group.kind);
    const std::string cores =
        fmt::format("{} {}", group.cores, group.cores == 1 ? "core" : "cores");
    text += fmt::format("  {}{} devices share {} of {}: each computes {} of the time at most{}\n",
                        *fewest < *most ? "up to " : "", *most, cores,
                        pooled ? "the nodes of " + group.core_pool : node,
                        format_percent(static_cast<double>(group.cores) / *most),
                        *fewest < *most ? " there" : "");
  }
  return text;
}

/// "plan by auto: PP 2 x DP 8 x TP 1, ZeRO 3 (FSDP), schedule 1f1b, 8 micro-batches of 8 samples"
std::string head_text(const Plan& plan) {
  const std::string text = fmt::format("plan by {}: {}{}, schedule {}, {}", plan.planner,
                                       plan.shape(), common_choices_text(plan),
                                       schedule_text(plan.schedule), micro_batches_text(plan));
  return wrapped(text, screen_columns(), "  ") + "\n";
}

std::string search_text(const Plan& plan) {
  if (plan.search_candidates == 0) return "";
  const std::string text =
      fmt::format("found in {}, {} candidates looked at{}", format_seconds(plan.search_seconds),
                  format_count(static_cast<double>(plan.search_candidates)),
                  plan.search_complete ? "" : "; more effort may find a faster one");
  return "  " + wrapped(text, screen_columns() - 2, "  ") + "\n";
}

/// What is said below the stages.
std::string rest_text(const Plan& plan, const Cluster& cluster) {
  std::string text = unused_text(plan, cluster);
  if (plan.predicted) text += prediction_text(*plan.predicted, cluster);
  text += shared_cores_text(plan, cluster) + summary_text(plan, cluster);
  if (!plan.alternatives.empty()) text += align({{"other planners", alternatives_in_short(plan)}});
  text += search_text(plan);
  if (plan.rank_correlations) text += correlations_text(*plan.rank_correlations);
  return text;
}

}  // namespace

std::string describe_gradients(const Profile& profile) {
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  if (bytes.sent() == bytes.gradient) return "";
  return fmt::format(
      "  gradients go from replica to replica in {:.0f} bytes each, and are held in {:.0f}\n",
      bytes.sent(), bytes.gradient);
}

std::string computing_text(double bubble_fraction) {
  return fmt::format("devices compute {} of it", format_percent(1.0 - bubble_fraction));
}

std::string micro_batches_text(const Plan& plan) {
  const std::int64_t samples = plan.samples_per_micro_batch();
  return fmt::format("{} micro-batch{} of {} sample{}", plan.micro_batches,
                     plan.micro_batches == 1 ? "" : "es", samples, samples == 1 ? "" : "s");
}

std::string describe_plan(const Plan& plan, const Cluster& cluster) {
  constexpr std::ptrdiff_t most_lines = 25;
  constexpr std::ptrdiff_t least_rows = 4;
  const std::string head = head_text(plan);
  const std::string rest = rest_text(plan, cluster);
  const std::ptrdiff_t lines =
      std::count(head.begin(), head.end(), '\n') + std::count(rest.begin(), rest.end(), '\n');
  std::string stages;
  for (std::ptrdiff_t rows = most_lines - lines - 1; rows >= least_rows || stages.empty(); --rows) {
    stages = stages_text(plan, cluster, StageDetail::brief,
                         static_cast<std::size_t>(std::max(rows, least_rows)));
    if (lines + std::count(stages.begin(), stages.end(), '\n') <= most_lines) break;
  }
  return head + stages + rest;
}

std::string describe_plan_in_full(const Plan& plan, const Cluster& cluster) {
  constexpr std::size_t most_rows = 40;
  std::string text = "stages\n" + stages_text(plan, cluster, StageDetail::full, most_rows);
  if (plan.predicted) text += formula_text(*plan.predicted) + contention_text(*plan.predicted);
  if (!plan.schedules.empty()) text += schedules_text(plan);
  if (!plan.alternatives.empty())
    text += "why other planners are slower\n" + alternatives_text(plan);
  return text;
}

}  // namespace pptrain
