#include "report/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/timing.hpp"
#include "report/expert_shares.hpp"
#include "report/numbers.hpp"
#include "report/reduce.hpp"
#include "report/step_times.hpp"

namespace pptrain {
namespace {

using nlohmann::json;

constexpr std::size_t most_points = 1000;

bool all_missing(const std::vector<double>& values) {
  return std::none_of(values.begin(), values.end(),
                      [](double value) { return std::isfinite(value); });
}

/// Mean and extremes where a point stands for several rows; null where there are no numbers.
json series(const std::vector<double>& rows, std::size_t per_point) {
  if (all_missing(rows)) return nullptr;
  const ReducedSeries reduced = reduce(rows, per_point);
  json result = {{"mean", short_numbers(reduced.mean)}};
  if (per_point > 1) {
    result["low"] = short_numbers(reduced.low);
    result["high"] = short_numbers(reduced.high);
  }
  return result;
}

json evaluation(const MetricsHistory& history) {
  return {{"step", history.integers.at("evaluation/step")},
          {"loss", short_numbers(history.reals.at("evaluation/loss"))}};
}

json drift(const MetricsHistory& history) {
  json list = json::array();
  const std::vector<std::int64_t>& steps = history.integers.at("drift/step");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    list.push_back({{"step", steps[i]},
                    {"rank", history.integers.at("drift/rank")[i]},
                    {"factor", short_number(history.reals.at("drift/factor")[i])}});
  }
  return list;
}

/// The first row of the last plan.
std::size_t first_of_last(const RunFolder& run) {
  const std::vector<std::int64_t>& steps = run.metrics.history.integers.at("steps/step");
  const auto first = std::upper_bound(steps.begin(), steps.end(), run.plans.back().from_step);
  return static_cast<std::size_t>(first - steps.begin());
}

/// Median of the finite ones; not a number where there are none.
double finite_median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values.empty() ? std::nan("") : median(std::move(values));
}

/// Utilisation of every row by the peak of the devices that the last plan uses, so that all steps
/// can be compared: FLOP go with the tokens or samples of a second.
std::vector<double> utilization(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  std::vector<double> rows = history.reals.at("steps/model_flops_utilization");
  const std::vector<double>& speed = history.reals.at("steps/tokens_per_second");
  const std::size_t first = first_of_last(run);
  std::vector<double> ratios;
  for (std::size_t row = first; row < rows.size(); ++row) ratios.push_back(rows[row] / speed[row]);
  const double ratio = finite_median(std::move(ratios));
  if (!std::isfinite(ratio)) return rows;
  for (std::size_t row = 0; row < first; ++row) rows[row] = ratio * speed[row];
  return rows;
}

json all_series(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  const std::vector<std::int64_t>& steps = history.integers.at("steps/step");
  const std::size_t per_point = rows_per_point(steps.size(), most_points);
  json result = {{"rows_per_point", per_point},
                 {"step", last_of_points(steps, per_point)},
                 {"seconds", short_numbers(last_of_points(training_seconds(history), per_point))}};
  if (run.config)
    result["per_step"] = run.plans.back().plan.global_batch_size * run.config->rows_per_sample();
  for (const char* name :
       {"loss", "grad_norm", "learning_rate", "iteration_seconds", "tokens_per_second"}) {
    result[name] = series(history.reals.at(std::string("steps/") + name), per_point);
  }
  result["model_flops_utilization"] = series(utilization(run), per_point);
  return result;
}

/// Median of a series of /steps over the rows of the last plan, without the first of several, which
/// begins cold: as the summary of a job has it.
json median_of_last(const RunFolder& run, const std::string& name) {
  const std::vector<double>& all = run.metrics.history.reals.at("steps/" + name);
  const std::size_t first = first_of_last(run);
  const std::size_t cold = all.size() > first + 1 ? 1 : 0;
  return short_number(
      finite_median({all.begin() + static_cast<std::ptrdiff_t>(first + cold), all.end()}));
}

/// Mean of a column over the rows from `first` on that have it, without the first of them, which
/// begins cold.
double column_mean(const std::vector<double>& rows, std::size_t first, std::size_t column,
                   std::size_t columns) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t row = rows.size() > (first + 1) * columns ? first + 1 : first;
       row * columns < rows.size(); ++row) {
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
      entry[name] = short_number(column_mean(rows, first, rank, columns));
    }
    std::int64_t peak = 0;
    for (std::size_t i = first * columns + rank; i < peaks.size(); i += columns)
      peak = std::max(peak, peaks[i]);
    entry["peak_bytes"] = peak;
    if (run.placement.is_array() && rank < run.placement.size()) {
      const json& place = run.placement[rank];
      if (place.contains("host") && place["host"].is_string()) entry["host"] = place["host"];
      if (place.contains("device") && place["device"].is_number())
        entry["device"] = place["device"];
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// How evenly rows went to experts: over time, and by layer in iterations of the last plan. Null
/// without experts.
json experts(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  const ExpertShares shares = expert_shares(history, first_of_last(run));
  if (all_missing(shares.fullest)) return nullptr;
  json layers = json::array();
  for (std::size_t l = 0; l < shares.of_layers.size(); ++l) {
    layers.push_back(
        {{"name", history.experts.layers[l]}, {"shares", short_numbers(shares.of_layers[l])}});
  }
  const std::size_t per_point = rows_per_point(shares.fullest.size(), most_points);
  return {{"fullest", series(shares.fullest, per_point)}, {"layers", std::move(layers)}};
}

json job(const RunFolder& run) {
  const std::vector<std::int64_t>& steps = run.metrics.history.integers.at("steps/step");
  json result = planned_job_document(run);
  result.update(
      {{"directory", run.full_path()},
       {"steps_done", steps.empty() ? 0 : steps.back()},
       {"left_open", run.metrics.left_open},
       {"resumed_step", run.resumed_step},
       {"rehearsal", !steps.empty() && all_missing(run.metrics.history.reals.at("steps/loss"))},
       {"iteration_seconds", median_of_last(run, "iteration_seconds")},
       {"amount_per_second", median_of_last(run, "tokens_per_second")},
       {"utilization", median_of_last(run, "model_flops_utilization")}});
  if (run.config) result["steps_planned"] = run.config->training.steps;
  return result;
}

}  // namespace

json report_document(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  json notes = run.losses;
  json document = {{"schema", "pptrain.report/1"},
                   {"job", job(run)},
                   {"environment", run.metrics.environment},
                   {"configuration", run.configuration},
                   {"series", all_series(run)},
                   {"evaluation", evaluation(history)},
                   {"drift", drift(history)},
                   {"ranks", ranks(run)},
                   {"experts", experts(run)},
                   {"nodes", nodes_document(run)},
                   {"plans", plans_document(run)},
                   {"timelines", timelines_document(run, run.trace, notes)}};
  document["notes"] = std::move(notes);
  return document;
}

}  // namespace pptrain
