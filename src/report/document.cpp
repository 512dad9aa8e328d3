#include "report/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/timing.hpp"
#include "base/units.hpp"
#include "report/describe_plan.hpp"
#include "report/expert_shares.hpp"
#include "report/reduce.hpp"
#include "report/timeline.hpp"
#include "simulate/order_options.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {
namespace {

using nlohmann::json;

constexpr std::size_t most_points = 1000;
constexpr std::size_t most_tasks = 6000;

/// Five digits; what is no number is null.
json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value == 0.0 ? 0.0 : std::stod(fmt::format("{:.5g}", value));
}

json numbers(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

bool all_missing(const std::vector<double>& values) {
  return std::none_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// Mean and extremes where a point stands for several rows; null where there are no numbers.
json series(const std::vector<double>& rows, std::size_t per_point) {
  if (all_missing(rows)) return nullptr;
  const ReducedSeries reduced = reduce(rows, per_point);
  json result = {{"mean", numbers(reduced.mean)}};
  if (per_point > 1) {
    result["low"] = numbers(reduced.low);
    result["high"] = numbers(reduced.high);
  }
  return result;
}

json all_series(const MetricsHistory& history) {
  const std::vector<std::int64_t>& steps = history.integers.at("steps/step");
  const std::size_t per_point = rows_per_point(steps.size(), most_points);
  json result = {{"rows_per_point", per_point}, {"step", last_of_points(steps, per_point)}};
  for (const char* name :
       {"loss", "grad_norm", "learning_rate", "iteration_seconds", "tokens_per_second", "model_flops_utilization"}) {
    result[name] = series(history.reals.at(std::string("steps/") + name), per_point);
  }
  return result;
}

json evaluation(const MetricsHistory& history) {
  return {{"step", history.integers.at("evaluation/step")}, {"loss", numbers(history.reals.at("evaluation/loss"))}};
}

json drift(const MetricsHistory& history) {
  json list = json::array();
  const std::vector<std::int64_t>& steps = history.integers.at("drift/step");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    list.push_back({{"step", steps[i]},
                    {"rank", history.integers.at("drift/rank")[i]},
                    {"factor", number(history.reals.at("drift/factor")[i])}});
  }
  return list;
}

/// The first row of the last plan.
std::size_t first_of_last(const RunFolder& run) {
  const std::vector<std::int64_t>& steps = run.metrics.history.integers.at("steps/step");
  const auto first = std::upper_bound(steps.begin(), steps.end(), run.plans.back().from_step);
  return static_cast<std::size_t>(first - steps.begin());
}

/// Median of a series of /steps over the rows of the last plan, without the first of several, which begins cold: as the
/// summary of a job has it.
json median_of_last(const RunFolder& run, const std::string& name) {
  const std::vector<double>& all = run.metrics.history.reals.at("steps/" + name);
  const std::size_t first = first_of_last(run);
  const std::size_t cold = all.size() > first + 1 ? 1 : 0;
  std::vector<double> rows(all.begin() + static_cast<std::ptrdiff_t>(first + cold), all.end());
  std::erase_if(rows, [](double value) { return !std::isfinite(value); });
  return rows.empty() ? json(nullptr) : number(median(std::move(rows)));
}

/// Mean of a column over the rows from `first` on that have it, without the first of them, which begins cold.
double column_mean(const std::vector<double>& rows, std::size_t first, std::size_t column, std::size_t columns) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t row = rows.size() > (first + 1) * columns ? first + 1 : first; row * columns < rows.size(); ++row) {
    const double value = rows[row * columns + column];
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::nan("") : sum / static_cast<double>(count);
}

/// What the ranks did in iterations of the last plan.
json ranks(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  const auto columns = static_cast<std::size_t>(history.num_ranks);
  const std::vector<std::int64_t>& peaks = history.integers.at("ranks/peak_bytes");
  const std::size_t first = first_of_last(run);
  json list = json::array();
  for (std::size_t rank = 0; rank < columns; ++rank) {
    json entry = {{"rank", rank}};
    for (const char* name : {"compute", "communication", "idle"}) {
      const std::vector<double>& rows = history.reals.at(fmt::format("ranks/{}_seconds", name));
      entry[name] = number(column_mean(rows, first, rank, columns));
    }
    std::int64_t peak = 0;
    for (std::size_t i = first * columns + rank; i < peaks.size(); i += columns) peak = std::max(peak, peaks[i]);
    entry["peak_bytes"] = peak;
    if (run.placement.is_array() && rank < run.placement.size()) {
      const json& place = run.placement[rank];
      if (place.contains("host") && place["host"].is_string()) entry["host"] = place["host"];
      if (place.contains("device") && place["device"].is_number()) entry["device"] = place["device"];
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// How evenly rows went to experts: over time, and by layer in iterations of the last plan. Null without experts.
json experts(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  const ExpertShares shares = expert_shares(history, first_of_last(run));
  if (all_missing(shares.fullest)) return nullptr;
  json layers = json::array();
  for (std::size_t l = 0; l < shares.of_layers.size(); ++l) {
    layers.push_back({{"name", history.experts.layers[l]}, {"shares", numbers(shares.of_layers[l])}});
  }
  const std::size_t per_point = rows_per_point(shares.fullest.size(), most_points);
  return {{"fullest", series(shares.fullest, per_point)}, {"layers", std::move(layers)}};
}

json job(const RunFolder& run) {
  const std::vector<std::int64_t>& steps = run.metrics.history.integers.at("steps/step");
  const Plan& plan = run.plans.back().plan;
  json result = {{"directory", run.full_path()},
                 {"model", plan.model},
                 {"cluster", run.cluster.name},
                 {"devices", run.cluster.num_devices()},
                 {"nodes", run.cluster.num_nodes()},
                 {"global_batch_size", plan.global_batch_size},
                 {"steps_done", steps.empty() ? 0 : steps.back()},
                 {"left_open", run.metrics.left_open},
                 {"resumed_step", run.resumed_step},
                 {"rehearsal", !steps.empty() && all_missing(run.metrics.history.reals.at("steps/loss"))},
                 {"unit", run.config && run.config->rows_per_sample() == 1 ? "samples" : "tokens"},
                 {"iteration_seconds", median_of_last(run, "iteration_seconds")},
                 {"amount_per_second", median_of_last(run, "tokens_per_second")},
                 {"utilization", median_of_last(run, "model_flops_utilization")}};
  result["name"] = run.config ? run.config->job.name : plan.model;
  if (run.config) result["steps_planned"] = run.config->training.steps;
  return result;
}

/// Which nodes there are with which devices; the memory of each, and what the plan says of it.
json nodes(const RunFolder& run) {
  const Plan& plan = run.plans.back().plan;
  const std::vector<double> predicted = plan.predicted ? plan.predicted->peak_bytes : std::vector<double>();
  json list = json::array();
  for (int node = 0; node < run.cluster.num_nodes(); ++node) {
    const NodeGroup& group = run.cluster.group_of_node(node);
    json devices = json::array();
    for (const DeviceId device : run.cluster.devices_of_node(node)) {
      const DeviceKind& kind = run.cluster.kind_of(device);
      json entry = {{"id", device.value}, {"kind", kind.name}, {"memory", kind.memory}};
      const auto index = static_cast<std::size_t>(device.value);
      if (index < predicted.size()) entry["predicted_bytes"] = number(predicted[index]);
      devices.push_back(std::move(entry));
    }
    list.push_back({{"kind", group.kind}, {"name", node_name(run.cluster, node)}, {"devices", std::move(devices)}});
  }
  return list;
}

/// Simulated for the last plan, and measured where there is a trace.
json timelines(const RunFolder& run, json& notes) {
  const Plan& plan = run.plans.back().plan;
  std::vector<DeviceId> devices;
  for (const Stage& stage : plan.stages) {
    for (const auto& replica : stage.devices) devices.insert(devices.end(), replica.begin(), replica.end());
  }
  Timeline predicted;
  try {
    const std::vector<Tie> ties = run.config ? ties_of(*run.config, run.profile) : std::vector<Tie>();
    const Instance instance = {run.profile, run.cluster, plan.global_batch_size, ties};
    check_instance(instance, run.path + "/profile.json");
    const Programs programs = planned_programs(instance, plan);
    const Simulation simulation = simulate(instance, plan, programs, {Recording::events});
    predicted = timeline_of(simulation.trace, devices);
    predicted.seconds = simulation.makespan_seconds;
  } catch (const Error& error) {
    notes.push_back(fmt::format("The plan cannot be simulated: {}.", error.what()));
  }
  Timeline measured;
  if (run.trace.is_object()) measured = timeline_of(run.trace, devices);
  thin(predicted, measured, most_tasks);
  return {{"predicted", to_json(predicted)}, {"measured", to_json(measured)}};
}

}  // namespace

json report_document(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  json notes = run.losses;
  json plans = json::array();
  for (const PlanOfRun& plan : run.plans) plans.push_back(plan_document(plan, run.profile));
  json document = {{"schema", "pptrain.report/1"},
                   {"job", job(run)},
                   {"environment", run.metrics.environment},
                   {"configuration", run.configuration},
                   {"series", all_series(history)},
                   {"evaluation", evaluation(history)},
                   {"drift", drift(history)},
                   {"ranks", ranks(run)},
                   {"experts", experts(run)},
                   {"nodes", nodes(run)},
                   {"plans", std::move(plans)},
                   {"timelines", timelines(run, notes)}};
  document["notes"] = std::move(notes);
  return document;
}

}  // namespace pptrain
