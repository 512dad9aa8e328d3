#pragma once

#include "plan/plan.hpp"

namespace pptrain {

/// Lanes of a stage: for each shard and group of replicas one for gradients and one for weights,
/// for each shard one between the groups.
struct Lanes {
  int first = 0;
  int shards = 1;
  int groups = 1;
  /// Lane on which a group of replicas sums the gradients of a shard.
  int gradients(int shard, int group) const { return first + shard * groups + group; }
  /// Lane on which a group of replicas gathers the weights of a shard.
  int weights(int shard, int group) const { return gradients(shard, group) + shards * groups; }
  /// Lane on which gradients of a shard are summed between the groups.
  int across(int shard) const { return first + 2 * shards * groups + shard; }
  /// One more than the last lane: the first one of the next stage.
  int end() const { return across(shards); }
};

inline Lanes lanes_of(const Stage& stage, int first) {
  return {first, stage.tensor_parallel, static_cast<int>(stage.sharding_groups().size())};
}

}  // namespace pptrain
