#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cost/instances.hpp"

namespace pptrain {

/// Random profiles, clusters and plans for the tests of the lower bounds.
class RandomInstances {
 public:
  explicit RandomInstances(unsigned seed) : random_(seed) {}

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  bool chance(double probability) { return between(0.0, 1.0) < probability; }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    std::shuffle(values.begin(), values.end(), random_);
  }

  /// One to three nodes of kinds "v" and "t", links and uplinks from fast to slow.
  Cluster cluster(int most_devices, double memory = 1e9) {
    Cluster made;
    made.name = "random";
    made.device_kinds = {{"v", memory, {}, 0.0}, {"t", 0.7 * memory, {}, 0.0}};
    int left = pick(1, most_devices);
    while (left > 0) {
      NodeGroup group;
      group.kind = fmt::format("node{}", made.groups.size());
      group.device_kind = chance(0.6) ? "v" : "t";
      group.num_devices = pick(1, left);
      group.link = {std::pow(10.0, between(0.0, 4.0)), chance(0.5) ? 0.0 : between(0.0, 0.3)};
      group.uplink = {std::pow(10.0, between(0.0, 4.0)), chance(0.5) ? 0.0 : between(0.0, 0.3)};
      group.host_link = {100.0, 0.0};
      left -= group.num_devices;
      made.groups.push_back(group);
    }
    made.finish("random");
    return made;
  }

  /// Rows at degrees 1, 2 and 3 for both kinds: either proportional to the work with some start-up
  /// time, or anything at all, as long as the parts are not negative.
  Profile profile(int layers, int most_samples) {
    Profile made;
    made.model = "random";
    const bool orderly = chance(0.7);
    const double slowness = between(1.0, 3.0);
    const double startup = chance(0.5) ? 0.0 : between(0.0, 0.5);
    for (int l = 0; l < layers; ++l) {
      ProfileLayer& one = made.layers.emplace_back(layer(fmt::format("{}", l), 0, 0, 0));
      one.rows.clear();
      one.parameters = chance(0.2) ? 0.0 : between(0.0, 20.0);
      one.output_bytes = between(0.0, 5.0);
      one.stored_bytes = between(0.0, 5.0);
      one.tensor_parallel_allreduce_bytes = chance(0.3) ? 0.0 : between(0.0, 5.0);
      one.exchange_bytes = between(0.0, 5.0);
      const double work = between(0.1, 1.0);
      for (const char* kind : {"v", "t"}) {
        for (const int degree : {1, 2, 3}) {
          for (int samples = pick(1, 2); samples <= most_samples; samples += pick(1, 3)) {
            const double size = orderly ? work * (startup + samples) / degree : between(0.0, 1.0);
            const double scale = orderly && *kind == 't' ? slowness * size : size;
            one.rows.push_back(
                {kind,
                 degree,
                 static_cast<double>(samples),
                 {scale * between(0.9, 1.0), scale * between(0.9, 1.0), scale * between(0.9, 1.0)},
                 true});
          }
        }
      }
    }
    return made;
  }

  /// A valid plan with anything that a plan can say: devices left out, uneven samples and shards,
  /// blocks of any pattern, groups of replicas that divide the state, and several chunks.
  Plan plan(const Instance& instance, std::optional<Recompute> recompute = std::nullopt) {
    const int num_devices = instance.cluster.num_devices();
    const int num_layers = instance.profile.num_layers();
    Plan made;
    made.global_batch_size = instance.global_batch_size;
    std::vector<std::int64_t> sizes;
    for (std::int64_t b = 1; b <= instance.global_batch_size; ++b) {
      if (instance.global_batch_size % b == 0) sizes.push_back(b);
    }
    made.micro_batch_size = sizes[pick(0, static_cast<int>(sizes.size()) - 1)];
    made.micro_batches = instance.global_batch_size / made.micro_batch_size;
    std::vector<int> devices(num_devices);
    std::iota(devices.begin(), devices.end(), 0);
    if (chance(0.5)) shuffle(devices);
    devices.resize(pick(1, num_devices));
    const int stages = pick(1, std::min(num_layers, static_cast<int>(devices.size())));
    const int chunks = stages > 1 && num_layers >= 2 * stages && chance(0.3) ? 2 : 1;
    made.schedule = {chunks == 2 ? "interleaved-1f1b" : "1f1b", chunks, 0};
    const std::vector<Interval> layers = parts(num_layers, stages * chunks);
    const std::vector<Interval> owned = parts(static_cast<std::int64_t>(devices.size()), stages);
    for (int i = 0; i < stages; ++i) {
      Stage& stage = made.stages.emplace_back();
      for (int c = 0; c < chunks; ++c) stage.layers.push_back(layers[c * stages + i]);
      place(stage,
            std::vector<int>(devices.begin() + owned[i].begin, devices.begin() + owned[i].end),
            made.micro_batch_size);
      stage.recompute = recompute.value_or(chance(0.2) ? Recompute::full : Recompute::none);
      if (chance(0.3)) stage.zero_stage = pick(0, 3);
      stage.offload = chance(0.2);
      if (chance(0.3)) add_block(stage, made.micro_batch_size);
      if (stage.zero_stage > 0 && stage.blocks.empty() && chance(0.5)) {
        stage.zero_groups = parts(stage.replicas, pick(1, stage.replicas));
      } else if (stage.zero_stage > 0 && stage.blocks.empty() && chance(0.5)) {
        stage.zero_slices = parts(4 * stage.replicas, stage.replicas);
      }
    }
    return made;
  }

  /// `[0, size)` in `count` parts, none empty.
  std::vector<Interval> parts(std::int64_t size, int count) {
    std::vector<std::int64_t> inner(size - 1);
    std::iota(inner.begin(), inner.end(), 1);
    shuffle(inner);
    inner.resize(count - 1);
    inner.push_back(size);
    std::sort(inner.begin(), inner.end());
    std::vector<Interval> made;
    for (const std::int64_t end : inner) made.push_back({made.empty() ? 0 : made.back().end, end});
    return made;
  }

 private:
  void place(Stage& stage, const std::vector<int>& devices, std::int64_t micro_batch) {
    const int count = static_cast<int>(devices.size());
    do {
      stage.tensor_parallel = pick(1, std::min(3, count));
      stage.replicas = static_cast<int>(
          std::min<std::int64_t>(pick(1, count / stage.tensor_parallel), micro_batch));
    } while (stage.replicas * stage.tensor_parallel > count);
    for (int j = 0, next = 0; j < stage.replicas; ++j) {
      stage.devices.emplace_back();
      for (int k = 0; k < stage.tensor_parallel; ++k)
        stage.devices.back().emplace_back(devices[next++]);
    }
    stage.samples = parts(micro_batch, stage.replicas);
    if (chance(0.2)) stage.shards["columns"] = parts(12, stage.tensor_parallel);
  }

  /// Often a whole chunk, so that no layer beside the block has the stage's division.
  void add_block(Stage& stage, std::int64_t micro_batch) {
    const int devices = stage.replicas * stage.tensor_parallel;
    const Interval chunk = stage.layers[pick(0, static_cast<int>(stage.layers.size()) - 1)];
    Block block;
    block.layers = {chunk.begin, chunk.begin + pick(1, static_cast<int>(chunk.size()))};
    block.tensor_parallel = pick(1, 3);
    if (devices % block.tensor_parallel != 0) return;
    block.replicas = devices / block.tensor_parallel;
    const bool sends_rows = block.tensor_parallel > 1 && devices <= micro_batch && chance(0.4);
    if (block.replicas > micro_batch) return;
    const std::vector<TensorPattern> patterns = {TensorPattern::megatron, TensorPattern::sp1,
                                                 TensorPattern::sp2};
    block.pattern = block.tensor_parallel == 1 ? TensorPattern::replicate
                    : sends_rows               ? TensorPattern::all_to_all
                                               : patterns[pick(0, 2)];
    block.samples = parts(micro_batch, sends_rows ? devices : block.replicas);
    if (sends_rows) block.shards["experts"] = parts(8, block.tensor_parallel);
    stage.blocks.push_back(block);
  }

  std::mt19937 random_;
};

}  // namespace pptrain
