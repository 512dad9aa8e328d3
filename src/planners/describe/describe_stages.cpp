#include "planners/describe/describe_stages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/units.hpp"
#include "planners/describe/text_table.hpp"

namespace pptrain {
namespace {

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

/// What members have of the layers, where it is not an even share of each tensor.
std::string shares_text(const std::map<std::string, std::vector<Interval>>& shards) {
  std::string text;
  const auto experts = shards.find("experts");
  if (shards.size() > (experts == shards.end() ? 0 : 1)) text += ", uneven shards";
  if (experts == shards.end()) return text;
  std::vector<std::string> numbers;
  for (const Interval& part : experts->second) numbers.push_back(fmt::format("{}", part.size()));
  const bool alike = std::all_of(numbers.begin(), numbers.end(), [&](const auto& n) { return n == numbers.front(); });
  return text + (alike ? fmt::format(", {} whole experts each", numbers.front()) : ", whole experts " + join(numbers));
}

/// Blocks that are divided alike together: "layers 2, 4, ..., 48 all-to-all 1 x 8".
std::string blocks_text(const std::vector<Block>& blocks) {
  const auto alike = [](const Block& a, const Block& b) {
    return a.pattern == b.pattern && a.replicas == b.replicas && a.tensor_parallel == b.tensor_parallel &&
           a.shards == b.shards;
  };
  std::string text;
  for (auto first = blocks.begin(); first != blocks.end();) {
    const auto end = std::find_if(first, blocks.end(), [&](const Block& other) { return !alike(*first, other); });
    constexpr std::ptrdiff_t most = 3;
    std::vector<std::string> layers;
    for (auto block = first; block != end; ++block) {
      const bool is_named = end - first <= most || block - first < most - 1 || block + 1 == end;
      if (is_named) {
        layers.push_back(fmt::format("{}-{}", block->layers.begin, block->layers.end - 1));
      } else if (block - first == most - 1) {
        layers.emplace_back("...");
      }
    }
    text += fmt::format(", layers {} {} {} x {}{}", join(layers), first->pattern, first->replicas,
                        first->tensor_parallel, shares_text(first->shards));
    first = end;
  }
  return text;
}

/// What a stage does beside holding its layers: recomputation, ZeRO, offload, blocks, uneven shards.
std::string choices_text(const Stage& stage) {
  std::string text;
  if (stage.recompute != Recompute::none) text += fmt::format(", recompute {}", to_string(stage.recompute));
  if (stage.zero_stage > 0) text += fmt::format(", ZeRO {}", stage.zero_stage);
  if (!stage.zero_groups.empty()) text += fmt::format(" in {} groups of replicas", stage.zero_groups.size());
  if (stage.offload) text += ", optimizer offloaded";
  if (stage.offload_activations) text += ", activations offloaded";
  text += shares_text(stage.shards);
  return text + blocks_text(stage.blocks);
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

}  // namespace

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

}  // namespace pptrain
