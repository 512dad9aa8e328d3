#include "planners/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/units.hpp"
#include "planners/grid.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_rows = 12;  ///< of the table of candidates

double peak_of(const Prediction& prediction) {
  const auto& peaks = prediction.peak_bytes;
  return peaks.empty() ? 0.0 : *std::max_element(peaks.begin(), peaks.end());
}

/// "6 6 7 7", the middle left out where there are many stages.
std::string layers_per_stage(const Plan& plan) {
  constexpr int most_stages = 12;
  std::string text;
  for (int i = 0; i < plan.num_stages(); ++i) {
    if (plan.num_stages() > most_stages && i == most_stages - 2) {
      text += " ...";
      i = plan.num_stages() - 1;
    }
    std::int64_t layers = 0;
    for (const Interval& chunk : plan.stages[i].layers) layers += chunk.size();
    text += fmt::format("{}{}", text.empty() ? "" : " ", layers);
  }
  return text;
}

/// "0-3, 8" of ascending numbers.
std::string ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    parts.push_back(i == last ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return join(parts);
}

/// "4 x v100, 4 x t4" of the stage's devices.
std::string kinds_text(const Stage& stage, const Cluster& cluster) {
  std::vector<int> counts(cluster.device_kinds.size(), 0);
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) ++counts[cluster.kind_index_of(device)];
  }
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > 0) parts.push_back(fmt::format("{} x {}", counts[k], cluster.device_kinds[k].name));
  }
  return join(parts);
}

std::string samples_text(const Stage& stage) {
  const auto [least, most] = std::minmax_element(stage.samples.begin(), stage.samples.end(),
                                                 [](Interval a, Interval b) { return a.size() < b.size(); });
  if (least->size() == most->size()) return fmt::format("{}", least->size());
  return fmt::format("{} to {}", least->size(), most->size());
}

using Rows = std::vector<std::vector<std::string>>;

/// Rows as aligned columns; a row may end early, its last cell is not padded.
std::string align(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c + 1 < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += " ";
    for (std::size_t c = 0; c + 1 < row.size(); ++c) text += fmt::format(" {:<{}} ", row[c], widths[c]);
    text += " " + row.back() + "\n";
  }
  return text;
}

std::vector<std::string> candidate_row(const GridCandidate& candidate) {
  const std::string grid = to_string(Grid{candidate.pipeline, candidate.data, candidate.tensor});
  if (!candidate.plan) return {grid, "-", "-", "-", "-", candidate.why_not};
  const Plan& plan = *candidate.plan;
  return {grid,
          fmt::format("{} x {}", plan.micro_batch_size, plan.micro_batches),
          format_seconds(plan.predicted->iteration_seconds),
          format_bytes(peak_of(*plan.predicted)),
          fmt::format("{:.0f} %", 100.0 * plan.predicted->bubble_fraction),
          layers_per_stage(plan)};
}

std::string stages_text(const Plan& plan, const Cluster& cluster) {
  Rows rows = {{"stage", "layers", "replicas x shards", "samples", "peak memory", "devices"}};
  for (int i = 0; i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[i];
    std::vector<std::string> layers;
    for (const Interval& chunk : stage.layers) layers.push_back(fmt::format("{}-{}", chunk.begin, chunk.end - 1));
    std::vector<int> devices;
    double peak = 0.0;
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) {
        devices.push_back(device.value);
        if (plan.predicted && device.index() < plan.predicted->peak_bytes.size()) {
          peak = std::max(peak, plan.predicted->peak_bytes[device.index()]);
        }
      }
    }
    rows.push_back({fmt::format("{}", i), join(layers), fmt::format("{} x {}", stage.replicas, stage.tensor_parallel),
                    samples_text(stage), plan.predicted ? format_bytes(peak) : "?",
                    fmt::format("{} ({})", ranges(devices), kinds_text(stage, cluster))});
  }
  return align(rows);
}

/// How far from the optimum the plan can be. The bound holds for AMP's estimate too, which knows
/// nothing of shared cores; where there are some it says little, and no ratio is made of it.
std::string bound_text(const Prediction& prediction, const Cluster& cluster) {
  const std::string bound = format_seconds(prediction.lower_bound_seconds);
  const bool shares = std::any_of(cluster.groups.begin(), cluster.groups.end(),
                                  [](const NodeGroup& group) { return group.shares_cores(); });
  if (shares)
    return fmt::format("  no plan can take less than {}, even if every device had a core of its own\n", bound);
  return fmt::format("  no plan can take less than {}: this one is at most {:.2f} times the optimum\n", bound,
                     prediction.iteration_seconds / prediction.lower_bound_seconds);
}

std::string prediction_text(const Prediction& prediction, const Cluster& cluster) {
  std::vector<std::string> estimates;
  for (const auto& [name, seconds] : prediction.estimates) estimates.push_back(name + " " + format_seconds(seconds));
  std::string text = fmt::format("  predicted iteration {} (estimates: {}), bubble {:.0f} %, peak memory {}\n",
                                 format_seconds(prediction.iteration_seconds), join(estimates),
                                 100.0 * prediction.bubble_fraction, format_bytes(peak_of(prediction)));
  if (prediction.lower_bound_seconds > 0.0) text += bound_text(prediction, cluster);
  return text;
}

std::string alternatives_text(const Plan& plan) {
  std::string text;
  for (const Alternative& other : plan.alternatives) {
    if (!other.feasible || !other.iteration_seconds) {
      text += fmt::format("  {}: not possible, {}\n", other.planner, other.why_not);
      continue;
    }
    text += fmt::format("  {}: {}", other.planner, format_seconds(*other.iteration_seconds));
    if (plan.predicted && plan.predicted->iteration_seconds > 0.0) {
      text += fmt::format(", {:.2f} times as long", *other.iteration_seconds / plan.predicted->iteration_seconds);
    }
    text += "\n";
  }
  return text;
}

/// One sentence for each kind of node whose devices share cores.
std::string shared_cores_text(const Cluster& cluster) {
  std::string text;
  for (const NodeGroup& group : cluster.groups) {
    if (!group.shares_cores()) continue;
    const std::string name = group.count == 1 && group.hosts.size() == 1 ? group.hosts.front() : group.kind;
    text += fmt::format(
        "  {} devices share {} {} of {}{}: the predicted time counts their computation and copying at {} {}\n",
        group.num_devices, group.cores, group.cores == 1 ? "core" : "cores", group.count > 1 ? "each node " : "node ",
        name, group.cores, group.cores == 1 ? "core" : "cores");
  }
  return text;
}

}  // namespace

std::string describe_candidates(const SearchResult& result, const Cluster& cluster) {
  Rows rows = {{"grid", "micro-batch x count", "iteration", "peak memory", "bubble", "layers per stage, or why not"}};
  for (const GridCandidate& candidate : result.grids) {
    if (rows.size() > most_rows) break;
    rows.push_back(candidate_row(candidate));
  }
  std::string text = fmt::format("candidate grids for {} devices\n", cluster.num_devices()) + align(rows);
  if (result.grids.size() >= rows.size())
    text += fmt::format("  ... and {} more\n", result.grids.size() + 1 - rows.size());
  return text;
}

std::string describe_plan(const Plan& plan, const Cluster& cluster) {
  std::string text = fmt::format("plan by {}: {}, schedule {}, {} micro-batches of {} samples\n", plan.planner,
                                 plan.shape(), plan.schedule.name, plan.micro_batches, plan.micro_batch_size);
  text += stages_text(plan, cluster);
  if (plan.predicted) text += prediction_text(*plan.predicted, cluster);
  text += shared_cores_text(cluster);
  if (!plan.alternatives.empty()) text += "other planners\n" + alternatives_text(plan);
  return text;
}

}  // namespace pptrain
