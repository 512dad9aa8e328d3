#include "shaped_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/validate.hpp"
#include "reference.hpp"

namespace pptrain::test {
namespace {

// Intervals of these sizes, one behind the other from 0 on.

std::vector<Interval> one_after_another(const std::vector<std::int64_t>& sizes) {
  std::vector<Interval> intervals;
  for (const std::int64_t size : sizes) {
    const std::int64_t begin = intervals.empty() ? 0 : intervals.back().end;
    intervals.push_back({begin, begin + size});
  }
  return intervals;
}

}  // namespace

Plan shaped_plan(const std::vector<ShapedStage>& stages, std::int64_t global_batch,
                 const std::string& schedule) {
  const int num_stages = static_cast<int>(stages.size());
  Plan plan;
  plan.global_batch_size = global_batch;
  plan.micro_batch_size =
      std::accumulate(stages[0].samples.begin(), stages[0].samples.end(), std::int64_t{0});
  plan.micro_batches = global_batch / plan.micro_batch_size;
  plan.schedule = {schedule, static_cast<int>(stages[0].layers.size()), 0};
  int device = 0;
  for (const ShapedStage& shaped : stages) {
    Stage& stage = plan.stages.emplace_back();
    stage.samples = one_after_another(shaped.samples);
    stage.replicas = static_cast<int>(shaped.samples.size());
    stage.tensor_parallel = shaped.tensor_parallel;
    for (const auto& [axis, sizes] : shaped.shards) stage.shards[axis] = one_after_another(sizes);
    stage.zero_stage = shaped.zero_stage;
    stage.recompute = shaped.recompute;
    stage.devices.resize(shaped.samples.size());
    for (auto& row : stage.devices) {
      for (int k = 0; k < stage.tensor_parallel; ++k) row.emplace_back(device++);
    }
  }
  std::int64_t layer = 0;
  for (int c = 0; c < num_stages * plan.schedule.virtual_stages; ++c) {
    const int s = stage_of_chunk(schedule, num_stages, c);
    const std::int64_t count = stages[s].layers[plan.stages[s].layers.size()];
    plan.stages[s].layers.push_back({layer, layer + count});
    layer += count;
  }
  return plan;
}

std::vector<std::int64_t> sending_layers(const Model& model) {
  std::vector<std::int64_t> layers;
  for (std::int64_t l = 0; l < model.num_layers(); ++l) {
    if (model.layers[static_cast<std::size_t>(l)].has_division(WeightDivision::exchange))
      layers.push_back(l);
  }
  return layers;
}

std::int64_t DrawnModel::most_members() const {
  const auto heads = axes.find("heads");
  if (heads != axes.end()) return heads->second;
  std::int64_t fewest = axes.begin()->second;
  for (const auto& [axis, size] : axes) fewest = std::min(fewest, size);
  return fewest;
}

std::int64_t RandomShapes::pick(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_.bits(drawn_++) %
                                         static_cast<std::uint64_t>(high - low + 1));
}

/// Divides `size` into `count` intervals at random, none of them empty.
std::vector<Interval> RandomShapes::parts(std::int64_t size, std::int64_t count) {
  std::vector<std::int64_t> ends(size - 1);
  std::iota(ends.begin(), ends.end(), 1);
  shuffle(ends);
  ends.resize(count - 1);
  ends.push_back(size);
  std::sort(ends.begin(), ends.end());
  std::vector<std::int64_t> sizes(ends.size());
  std::adjacent_difference(ends.begin(), ends.end(), sizes.begin());
  return one_after_another(sizes);
}

std::map<std::string, std::vector<Interval>> RandomShapes::shards(int tensor_parallel) {
  std::map<std::string, std::vector<Interval>> drawn;
  for (const auto& [axis, size] : model_.axes) {
    if (tensor_parallel == 1 || size < tensor_parallel) continue;
    if (pick(0, 3) > 0) drawn[axis] = parts(size, tensor_parallel);
  }
  return drawn;
}

/// Some layers of one chunk, at a degree that the stage's devices and the micro-batch admit.
void RandomShapes::add_block(Stage& stage, std::int64_t micro_batch_size) {
  const std::int64_t num_devices = stage.replicas * stage.tensor_parallel;
  std::vector<int> degrees;
  for (int degree = 1; degree <= std::min(num_devices, model_.most_members()); ++degree) {
    if (num_devices % degree == 0 && num_devices / degree <= micro_batch_size)
      degrees.push_back(degree);
  }
  if (degrees.empty()) return;
  const Interval chunk = stage.layers[pick(0, static_cast<std::int64_t>(stage.layers.size()) - 1)];
  Block block;
  block.layers.begin = pick(chunk.begin, chunk.end - 1);
  block.layers.end = pick(block.layers.begin + 1, chunk.end);
  block.tensor_parallel = degrees[pick(0, static_cast<std::int64_t>(degrees.size()) - 1)];
  block.replicas = static_cast<int>(num_devices / block.tensor_parallel);
  block.pattern = block.tensor_parallel == 1 ? TensorPattern::replicate : TensorPattern::megatron;
  block.samples = parts(micro_batch_size, block.replicas);
  block.shards = shards(block.tensor_parallel);
  stage.blocks.push_back(block);
  stage.zero_groups.clear();  // blocks have replicas of their own
  stage.zero_slices.clear();
}

/// Adds blocks that send rows, of layers with experts that are in no block.
void RandomShapes::add_sending_blocks(Stage& stage, std::int64_t micro_batch_size) {
  const int num_devices = stage.replicas * stage.tensor_parallel;
  std::vector<int> degrees;
  for (int degree = 2; degree <= num_devices && num_devices <= micro_batch_size; ++degree) {
    if (num_devices % degree == 0 && degree <= model_.axes.at("experts")) degrees.push_back(degree);
  }
  for (const std::int64_t layer : model_.sending_layers) {
    const auto has = [layer](const Block& block) { return block.layers.contains(layer); };
    const bool taken = std::any_of(stage.blocks.begin(), stage.blocks.end(), has);
    if (degrees.empty() || taken || !contains(stage.layers, layer) || pick(0, 3) == 0) continue;
    const int degree = degrees[static_cast<std::size_t>(pick(0, std::ssize(degrees) - 1))];
    stage.blocks.push_back({{layer, layer + 1},
                            num_devices / degree,
                            degree,
                            TensorPattern::all_to_all,
                            parts(micro_batch_size, num_devices),
                            {{"experts", parts(model_.axes.at("experts"), degree)}}});
    stage.zero_groups.clear();
    stage.zero_slices.clear();
  }
}

void RandomShapes::shape(Stage& stage, std::vector<DeviceId> devices,
                         std::int64_t micro_batch_size) {
  const auto most = static_cast<std::int64_t>(devices.size());
  stage.tensor_parallel = static_cast<int>(pick(1, std::min(most, model_.most_members())));
  stage.replicas = static_cast<int>(std::min(most / stage.tensor_parallel, micro_batch_size));
  for (int j = 0; j < stage.replicas; ++j) {
    const auto first = devices.begin() + static_cast<std::ptrdiff_t>(j) * stage.tensor_parallel;
    stage.devices.emplace_back(first, first + stage.tensor_parallel);
  }
  stage.samples = parts(micro_batch_size, stage.replicas);
  stage.shards = shards(stage.tensor_parallel);
  constexpr Recompute recomputes[] = {Recompute::none, Recompute::selective, Recompute::full};
  stage.recompute = recomputes[pick(0, 2)];
  stage.zero_stage = static_cast<int>(pick(0, 3));
  if (stage.zero_stage == 0) return;
  switch (pick(0, 2)) {
    case 0: stage.zero_groups = parts(stage.replicas, pick(1, stage.replicas)); break;
    case 1: stage.zero_slices = parts(5 * stage.replicas, stage.replicas); break;
    default: break;  // equal slices on all replicas
  }
}

Plan RandomShapes::plan(int num_devices) {
  const Kind& kind = kinds[pick(0, static_cast<std::int64_t>(kinds.size()) - 1)];
  Plan plan;
  plan.schedule = {kind.schedule,
                   kind.chunks[pick(0, static_cast<std::int64_t>(kind.chunks.size()) - 1)], 0};
  plan.global_batch_size = model_.global_batch_size;
  plan.micro_batches = std::int64_t{1} << std::min(pick(0, 3), pick(0, 3));  // large ones for many
                                                                             // replicas
  plan.micro_batches = std::min(plan.micro_batches, model_.global_batch_size);
  if (model_.micro_batch_size > 0)
    plan.micro_batches = model_.global_batch_size / model_.micro_batch_size;
  plan.micro_batch_size = model_.global_batch_size / plan.micro_batches;
  const std::int64_t chunks = plan.schedule.virtual_stages;
  const auto num_stages =
      static_cast<int>(pick(1, std::min<std::int64_t>(num_devices, model_.num_layers / chunks)));
  std::vector<DeviceId> devices;
  for (int d = 0; d < num_devices; ++d) devices.emplace_back(d);
  shuffle(devices);
  const std::vector<Interval> of_stages = parts(num_devices, num_stages);
  for (const Interval& own : of_stages) {
    shape(plan.stages.emplace_back(), {devices.begin() + own.begin, devices.begin() + own.end},
          plan.micro_batch_size);
  }
  const std::vector<Interval> layers = parts(model_.num_layers, num_stages * chunks);
  for (int c = 0; c < num_stages * chunks; ++c) {
    plan.stages[stage_of_chunk(kind.schedule, num_stages, c)].layers.push_back(layers[c]);
  }
  for (Stage& stage : plan.stages) {
    if (blocks_ == DrawnBlocks::some && pick(0, 1) > 0) add_block(stage, plan.micro_batch_size);
    if (blocks_ == DrawnBlocks::some && !model_.sending_layers.empty()) {
      add_sending_blocks(stage, plan.micro_batch_size);
    }
  }
  return plan;
}

/// Stages with blocks and those that are one send whole copies.
TransferForm RandomShapes::form(const Stage& one, const Stage& other) {
  const bool slices =
      pick(0, 1) > 0 && &one != &other && one.blocks.empty() && other.blocks.empty();
  return slices ? TransferForm::slices : TransferForm::whole;
}

SessionOptions RandomShapes::machine(const Plan& plan, int num_devices) {
  SessionOptions options;
  const std::int64_t num_nodes = pick(1, 3);
  for (int d = 0; d < num_devices; ++d)
    options.nodes.push_back(static_cast<int>(pick(0, num_nodes - 1)));
  const std::vector<ChunkPlace> places = chunk_places(plan);
  const auto stage_of = [&](std::size_t chunk) -> const Stage& {
    return plan.stages[static_cast<std::size_t>(places[chunk].stage.value)];
  };
  for (std::size_t c = 0; c + 1 < places.size(); ++c) {
    const TransferForm activation = form(stage_of(c), stage_of(c + 1));
    options.forms.cuts.push_back({activation, form(stage_of(c), stage_of(c + 1))});
  }
  options.forms.ties = {form(stage_of(0), stage_of(places.size() - 1))};
  return options;
}

std::string describe(const SessionOptions& options) {
  const auto letter = [](TransferForm form) { return form == TransferForm::slices ? 's' : 'w'; };
  std::string text = "nodes";
  for (const int node : options.nodes) text += fmt::format(" {}", node);
  text += ", cuts";
  for (const CutForms& cut : options.forms.cuts) {
    text += fmt::format(" {}{}", letter(cut.activation), letter(cut.gradient));
  }
  return text + fmt::format(", tied {}", letter(options.forms.of_tie(0)));
}

Plan with_experts(Plan plan, const std::vector<std::int64_t>& numbers) {
  for (Stage& stage : plan.stages) {
    for (const std::int64_t number : numbers) {
      std::vector<Interval>& parts = stage.shards["experts"];
      const std::int64_t begin = parts.empty() ? 0 : parts.back().end;
      parts.push_back({begin, begin + number});
    }
  }
  return plan;
}

Plan with_sent_rows(Plan plan, const Model& model, const std::vector<std::int64_t>& numbers) {
  const auto members = static_cast<int>(numbers.size());
  for (Stage& stage : plan.stages) {
    for (const Interval& layers : stage.layers) {
      for (std::int64_t l = layers.begin; l < layers.end; ++l) {
        if (!model.layers[static_cast<std::size_t>(l)].has_division(WeightDivision::exchange))
          continue;
        Block block = {{l, l + 1},    stage.replicas / members,
                       members,       TensorPattern::all_to_all,
                       stage.samples, {}};
        for (const std::int64_t number : numbers) {
          std::vector<Interval>& parts = block.shards["experts"];
          const std::int64_t begin = parts.empty() ? 0 : parts.back().end;
          parts.push_back({begin, begin + number});
        }
        stage.blocks.push_back(block);
      }
    }
  }
  return plan;
}

}  // namespace pptrain::test
