#pragma once

#include "plan/plan.hpp"

namespace pptrain {

/// Lanes of a stage: for each shard and group of replicas one for gradients and one for weights, for each shard one
/// between the groups.
struct Lanes {
  int first = 0;
  int shards = 1;
  int groups = 1;
  int gradients(int shard, int group) const { return first + shard * groups + group; }
  int weights(int shard, int group) const { return gradients(shard, group) + shards * groups; }
  int across(int shard) const { return first + 2 * shards * groups + shard; }
  int end() const { return across(shards); }
};

inline Lanes lanes_of(const Stage& stage, int first) {
  return {first, stage.tensor_parallel, static_cast<int>(stage.sharding_groups().size())};
}

}  // namespace pptrain
