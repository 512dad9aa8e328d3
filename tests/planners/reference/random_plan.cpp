#include "planners/reference/random_plan.hpp"

#include <algorithm>

#include "planners/reference/divisions.hpp"

namespace pptrain::reference {

namespace {

std::vector<Interval> random_division(Choices& choices, std::int64_t size, int parts) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t c = 1; c < size; ++c) cuts.push_back(c);
  choices.shuffle(cuts);
  cuts.resize(parts - 1);
  std::sort(cuts.begin(), cuts.end());
  cuts.push_back(size);
  std::vector<Interval> intervals;
  std::int64_t begin = 0;
  for (const std::int64_t end : cuts) {
    intervals.push_back({begin, end});
    begin = end;
  }
  return intervals;
}

/// Degrees that all of `devices` have rows for.
std::vector<int> degrees_of(const RandomInstance& instance, const std::vector<DeviceId>& devices) {
  std::vector<int> degrees;
  for (int n = 1; n <= static_cast<int>(devices.size()); ++n) {
    const bool rows = std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
      return instance.profile.has_degree(instance.cluster.kind_of(device).name, n);
    });
    if (rows) degrees.push_back(n);
  }
  return degrees;
}

std::vector<Interval> random_samples(Choices& choices, std::int64_t micro_batch_size,
                                     int replicas) {
  return choices.one_in(3) ? random_division(choices, micro_batch_size, replicas)
                           : even_division(micro_batch_size, replicas);
}

/// A stage on `devices`, in that order, with a degree that has rows and replicas that use as many
/// as they can.
Stage random_stage(const RandomInstance& instance, Choices& choices, Interval layers,
                   const std::vector<DeviceId>& devices, std::int64_t micro_batch_size) {
  Stage stage;
  stage.layers = {layers};
  stage.tensor_parallel = choices.of(degrees_of(instance, devices));
  const auto most = std::min<std::int64_t>(static_cast<int>(devices.size()) / stage.tensor_parallel,
                                           micro_batch_size);
  stage.replicas =
      choices.one_in(4) ? choices.between(1, static_cast<int>(most)) : static_cast<int>(most);
  for (int j = 0; j < stage.replicas; ++j) {
    const auto first = devices.begin() + j * stage.tensor_parallel;
    stage.devices.emplace_back(first, first + stage.tensor_parallel);
  }
  stage.samples = random_samples(choices, micro_batch_size, stage.replicas);
  return stage;
}

/// Uneven shards in one of two cases where there is something to shard.
std::map<std::string, std::vector<Interval>> random_shards(Choices& choices, int degree) {
  std::map<std::string, std::vector<Interval>> shards;
  if (degree == 1 || choices.one_in(2)) return shards;
  shards["columns"] = random_division(choices, 12, degree);
  if (choices.one_in(2)) shards["heads"] = random_division(choices, 7, degree);
  return shards;
}

/// A block of some of the stage's layers, from `begin` on.
void add_block(const RandomInstance& instance, Choices& choices, Stage& stage, std::int64_t begin,
               std::int64_t micro_batch_size) {
  std::vector<DeviceId> devices;
  for (const auto& row : stage.devices) devices.insert(devices.end(), row.begin(), row.end());
  Block block;
  block.layers = {begin, begin + choices.between(1, static_cast<int>(stage.layers[0].end - begin))};
  std::vector<int> degrees;
  for (const int n : degrees_of(instance, devices)) {
    const auto replicas = static_cast<int>(devices.size()) / n;
    if (replicas * n == static_cast<int>(devices.size()) && replicas <= micro_batch_size)
      degrees.push_back(n);
  }
  if (degrees.empty()) return;
  block.tensor_parallel = choices.of(degrees);
  block.replicas = static_cast<int>(devices.size()) / block.tensor_parallel;
  block.pattern = block.tensor_parallel == 1
                      ? TensorPattern::replicate
                      : choices.of<TensorPattern>(
                            {TensorPattern::megatron, TensorPattern::sp1, TensorPattern::sp2});
  block.shards = random_shards(choices, block.tensor_parallel);
  block.samples = random_samples(choices, micro_batch_size, block.replicas);
  stage.blocks.push_back(block);
}

}  // namespace

void divide_differently(const RandomInstance& instance, Choices& choices, Plan& plan) {
  for (Stage& stage : plan.stages) {
    stage.zero_stage = choices.between(0, 3);
    if (choices.one_in(4)) stage.recompute = Recompute::full;
    stage.shards = random_shards(choices, stage.tensor_parallel);
    stage.offload = choices.one_in(5);
    stage.offload_activations = stage.offload && stage.replicas % 2 == 1;
    for (auto layer = stage.layers[0].begin; layer < stage.layers[0].end; ++layer) {
      if (!stage.blocks.empty() && layer < stage.blocks.back().layers.end) continue;
      if (choices.one_in(3)) add_block(instance, choices, stage, layer, plan.micro_batch_size);
    }
    const auto groups = static_cast<int>(1 + stage.layers[0].size() % stage.replicas);
    if (stage.zero_stage == 0 || !stage.blocks.empty()) continue;
    if (groups > 1) {
      stage.zero_groups = even_division(stage.replicas, groups);
    } else {
      // The last replica has twice as much as each of the others.
      stage.zero_slices = even_division(stage.replicas, stage.replicas);
      ++stage.zero_slices.back().end;
    }
  }
}

Plan random_plan(const RandomInstance& instance, Choices& choices) {
  Plan plan;
  plan.planner = "random";
  plan.model = instance.profile.model;
  plan.cluster = instance.cluster.name;
  plan.global_batch_size = instance.global_batch_size;
  plan.micro_batch_size = choices.of(divisors(instance.global_batch_size));
  plan.micro_batches = plan.global_batch_size / plan.micro_batch_size;
  plan.schedule.name = choices.one_in(3) ? "gpipe" : "1f1b";
  std::vector<DeviceId> devices;
  for (int d = 0; d < instance.cluster.num_devices(); ++d) devices.emplace_back(d);
  choices.shuffle(devices);
  const int num_stages = choices.one_in(4)
                             ? 1
                             : choices.between(1, std::min(instance.cluster.num_devices(),
                                                           instance.profile.num_layers()));
  const std::vector<Interval> layers =
      random_division(choices, instance.profile.num_layers(), num_stages);
  const std::vector<Interval> shares =
      random_division(choices, instance.cluster.num_devices(), num_stages);
  for (int i = 0; i < num_stages; ++i) {
    const auto begin = devices.begin();
    plan.stages.push_back(random_stage(instance, choices, layers[i],
                                       {begin + shares[i].begin, begin + shares[i].end},
                                       plan.micro_batch_size));
  }
  return plan;
}

}  // namespace pptrain::reference
