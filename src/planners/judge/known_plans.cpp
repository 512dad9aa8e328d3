#include "planners/judge/known_plans.hpp"

#include <string>

namespace pptrain {
namespace {

using Key = std::vector<std::int64_t>;

void append(Key& key, const std::vector<Interval>& intervals) {
  key.push_back(std::ssize(intervals));
  for (const Interval& one : intervals) key.insert(key.end(), {one.begin, one.end});
}

void append(Key& key, const std::string& text) {
  key.push_back(std::ssize(text));
  key.insert(key.end(), text.begin(), text.end());
}

void append(Key& key, const std::map<std::string, std::vector<Interval>>& shards) {
  key.push_back(std::ssize(shards));
  for (const auto& [axis, parts] : shards) {
    append(key, axis);
    append(key, parts);
  }
}

void append(Key& key, const Block& block) {
  key.insert(key.end(),
             {block.layers.begin, block.layers.end, block.replicas, block.tensor_parallel});
  key.push_back(static_cast<std::int64_t>(block.pattern));
  append(key, block.samples);
  append(key, block.shards);
}

/// Tells stages apart by their devices, shards and samples.
Key placement_of(const Stage& stage) {
  Key key = {stage.replicas, stage.tensor_parallel, std::ssize(stage.devices)};
  for (const std::vector<DeviceId>& replica : stage.devices) {
    key.push_back(std::ssize(replica));
    for (const DeviceId device : replica) key.push_back(device.value);
  }
  append(key, stage.samples);
  return key;
}

/// What else a stage says.
void append_modes(Key& key, const Stage& stage) {
  append(key, stage.layers);
  append(key, stage.shards);
  append(key, stage.zero_groups);
  append(key, stage.zero_slices);
  key.insert(key.end(), {static_cast<std::int64_t>(stage.recompute), stage.zero_stage,
                         stage.offload, stage.offload_activations, std::ssize(stage.blocks)});
  for (const Block& block : stage.blocks) append(key, block);
}

}  // namespace

std::size_t NumbersHash::operator()(const std::vector<std::int64_t>& numbers) const noexcept {
  std::size_t hash = numbers.size();
  for (const std::int64_t number : numbers) {
    hash = (hash ^ static_cast<std::size_t>(number)) * 0x9e3779b97f4a7c15ULL;  // 2^64 / golden
                                                                               // ratio
    hash ^= hash >> 29;
  }
  return hash;
}

template <class NumberOf>
KnownPlans::Key KnownPlans::key_of(const Plan& plan, const NumberOf& number_of) {
  Key key = {plan.global_batch_size, plan.micro_batch_size, plan.schedule.virtual_stages,
             plan.schedule.unit, plan.num_stages()};
  append(key, plan.schedule.name);
  for (const Stage& stage : plan.stages) {
    key.push_back(number_of(placement_of(stage)));
    append_modes(key, stage);
  }
  return key;
}

std::optional<std::size_t> KnownPlans::find(const Plan& plan) const {
  const Key key = key_of(plan, [this](const Key& placement) {
    const auto known = placements_.find(placement);
    return known == placements_.end() ? -1 : known->second;
  });
  const auto known = plans_.find(key);
  return known == plans_.end() ? std::nullopt
                               : std::optional(static_cast<std::size_t>(known->second));
}

std::size_t KnownPlans::add(const Plan& plan) {
  Key key = key_of(plan, [this](Key placement) {
    return placements_.emplace(std::move(placement), std::ssize(placements_)).first->second;
  });
  return static_cast<std::size_t>(plans_.emplace(std::move(key), std::ssize(plans_)).first->second);
}

}  // namespace pptrain
