#include "planners/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

/// A bar of `width` characters of which `part` (0 to 1) is filled; anything above 0 shows.
std::string bar(double part, int width) {
  const int filled = part > 0.0 ? std::clamp(static_cast<int>(std::lround(part * width)), 1, width) : 0;
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

/// Where in the chain of layers the stage's are.
std::string layers_picture(const Stage& stage, std::int64_t num_layers) {
  constexpr std::int64_t widest = 32;
  const std::int64_t width = std::min(num_layers, widest);
  std::string picture(width, '.');
  for (const Interval& chunk : stage.layers) {
    const std::int64_t begin = chunk.begin * width / num_layers;
    const std::int64_t end = std::max(begin + 1, chunk.end * width / num_layers);
    for (std::int64_t c = begin; c < std::min(end, width); ++c) picture[c] = '#';
  }
  return picture;
}

/// Need and memory of the fullest device of a stage.
struct Fullest {
  double need = 0.0;
  double memory = 0.0;
  double part() const { return memory > 0.0 ? need / memory : 0.0; }
};

Fullest fullest_of(const Stage& stage, const Prediction& prediction, const Cluster& cluster) {
  Fullest fullest;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) {
      if (device.index() >= prediction.peak_bytes.size()) continue;
      const Fullest mine = {prediction.peak_bytes[device.index()], cluster.kind_of(device).memory};
      if (fullest.memory == 0.0 || mine.part() > fullest.part()) fullest = mine;
    }
  }
  return fullest;
}

std::string layers_text(const Stage& stage) {
  std::vector<std::string> layers;
  for (const Interval& chunk : stage.layers) {
    layers.push_back(chunk.size() == 1 ? fmt::format("{}", chunk.begin)
                                       : fmt::format("{}-{}", chunk.begin, chunk.end - 1));
  }
  return join(layers);
}

std::string devices_text(const Stage& stage, const Cluster& cluster) {
  std::vector<int> devices;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) devices.push_back(device.value);
  }
  return fmt::format("{} ({})", ranges(devices), kinds_text(stage, cluster));
}

/// What a stage does beside holding its layers: recomputation, ZeRO, offload, blocks, uneven shards.
std::string choices_text(const Stage& stage) {
  std::string text;
  if (stage.recompute != Recompute::none) text += fmt::format(", recompute {}", to_string(stage.recompute));
  if (stage.zero_stage > 0) text += fmt::format(", ZeRO {}", stage.zero_stage);
  if (stage.offload) text += ", optimizer offloaded";
  if (!stage.shards.empty()) text += ", uneven shards";
  for (const Block& block : stage.blocks) {
    text += fmt::format(", layers {}-{} {} {} x {}", block.layers.begin, block.layers.end - 1, block.pattern,
                        block.replicas, block.tensor_parallel);
  }
  return text;
}

std::vector<std::string> stage_row(const Plan& plan, int i, const Cluster& cluster, std::int64_t num_layers) {
  constexpr int width = 8;
  const Stage& stage = plan.stages[i];
  std::vector<std::string> row = {fmt::format("{}", i), layers_text(stage), layers_picture(stage, num_layers),
                                  fmt::format("{} x {}", stage.replicas, stage.tensor_parallel), samples_text(stage)};
  if (plan.predicted) {
    const std::vector<double>& times = plan.predicted->stage_seconds;
    const double slowest = *std::max_element(times.begin(), times.end());
    row.push_back(fmt::format("{} {}", bar(slowest > 0.0 ? times[i] / slowest : 0.0, width), format_seconds(times[i])));
    const Fullest fullest = fullest_of(stage, *plan.predicted, cluster);
    row.push_back(fmt::format("{} {} of {}", bar(fullest.part(), width), format_bytes(fullest.need),
                              format_bytes(fullest.memory)));
  }
  row.push_back(devices_text(stage, cluster) + choices_text(stage));
  return row;
}

/// The plan as a picture: a row per stage.
std::string stages_text(const Plan& plan, const Cluster& cluster) {
  constexpr int most_stages = 40;
  std::int64_t num_layers = 0;
  for (const Stage& stage : plan.stages) {
    for (const Interval& chunk : stage.layers) num_layers = std::max(num_layers, chunk.end);
  }
  Rows rows = {{"stage", "layers", "", "dp x tmp", "samples"}};
  if (plan.predicted) rows[0].insert(rows[0].end(), {"time of a micro-batch", "memory"});
  rows[0].emplace_back("devices");
  for (int i = 0; i < std::min(plan.num_stages(), most_stages); ++i) {
    rows.push_back(stage_row(plan, i, cluster, num_layers));
  }
  std::string text = align(rows);
  if (plan.num_stages() > most_stages) text += fmt::format("  ... and {} more\n", plan.num_stages() - most_stages);
  return text;
}

/// Where the predicted time goes.
std::string parts_text(const Prediction& prediction) {
  constexpr int width = 20;
  const TimeParts& parts = prediction.parts;
  const double rest = prediction.iteration_seconds - parts.sum();
  Rows rows;
  const auto add = [&](const char* name, double seconds) {
    if (seconds <= 1e-9 * prediction.iteration_seconds) return;
    const double part = seconds / prediction.iteration_seconds;
    rows.push_back(
        {"  " + std::string(name), format_seconds(seconds), fmt::format("{:.0f} %", 100.0 * part), bar(part, width)});
  };
  add("compute of the slowest stage", parts.compute);
  add("bubble", parts.bubble);
  add("pipeline communication", parts.pipeline_communication);
  add("tensor communication", parts.tensor_communication);
  add("parameter gathers", parts.parameter_gathers);
  add("gradient synchronization", parts.gradient_synchronization);
  add("optimizer step and shared cores", rest);
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
  std::string text =
      fmt::format("  predicted iteration {} (estimates: {}), devices idle {:.0f} % of it\n",
                  format_seconds(prediction.iteration_seconds), join(estimates), 100.0 * prediction.bubble_fraction);
  text += parts_text(prediction);
  if (prediction.lower_bound_seconds > 0.0) text += bound_text(prediction, cluster);
  return text;
}

/// Devices of the cluster that no stage uses.
std::string unused_text(const Plan& plan, const Cluster& cluster) {
  std::vector<bool> used(cluster.num_devices(), false);
  for (const Stage& stage : plan.stages) {
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) used[device.index()] = true;
    }
  }
  std::vector<int> unused;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (!used[d]) unused.push_back(d);
  }
  if (unused.empty()) return "";
  return fmt::format("  {} {} left out: the iteration is no faster with more\n",
                     unused.size() == 1 ? "device" : "devices", ranges(unused) + (unused.size() == 1 ? " is" : " are"));
}

std::string alternatives_text(const Plan& plan) {
  Rows rows;
  for (const Alternative& other : plan.alternatives) {
    if (!other.feasible || !other.iteration_seconds) {
      rows.push_back({other.planner, "-", "", "not possible: " + other.why_not});
      continue;
    }
    const double ratio = plan.predicted ? *other.iteration_seconds / plan.predicted->iteration_seconds : 1.0;
    rows.push_back(
        {other.planner, format_seconds(*other.iteration_seconds), fmt::format("{:.2f} x", ratio), other.why_not});
  }
  return align(rows);
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
  std::string text =
      fmt::format("plan by {}: {}, schedule {}, {} micro-batch{} of {} sample{}\n", plan.planner, plan.shape(),
                  plan.schedule.name, plan.micro_batches, plan.micro_batches == 1 ? "" : "es", plan.micro_batch_size,
                  plan.micro_batch_size == 1 ? "" : "s");
  text += stages_text(plan, cluster) + unused_text(plan, cluster);
  if (plan.predicted) text += prediction_text(*plan.predicted, cluster);
  text += shared_cores_text(cluster);
  if (plan.search_candidates > 0) {
    text += fmt::format("  found in {}, {} candidates looked at{}\n", format_seconds(plan.search_seconds),
                        format_count(static_cast<double>(plan.search_candidates)),
                        plan.search_complete ? "" : "; the search was ended, this is the best so far");
  }
  if (!plan.alternatives.empty()) text += "other planners\n" + alternatives_text(plan);
  return text;
}

}  // namespace pptrain
