#include "plan/uniformity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/patterns.hpp"

namespace pptrain {
namespace {

/// Whether the block is of experts that replicas of one device each divide evenly between them.
bool shares_experts_evenly(const Stage& stage, const Block& block) {
  return stage.tensor_parallel == 1 && block.pattern == TensorPattern::all_to_all &&
         block.tensor_parallel == stage.blocks.front().tensor_parallel && is_even(block.samples) &&
         std::all_of(block.shards.begin(), block.shards.end(),
                     [](const auto& axis) { return is_even(axis.second); });
}

/// Replicas that divide the experts of each layer.
int expert_members(const Stage& stage) {
  return stage.blocks.empty() ? 1 : stage.blocks.front().tensor_parallel;
}

}  // namespace

bool is_even(const std::vector<Interval>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](Interval part) { return part.size() == parts.front().size(); });
}

std::string uneven_part(const Stage& stage) {
  if (!is_even(stage.samples)) return "unequal numbers of samples on its replicas";
  for (const auto& [axis, shards] : stage.shards) {
    if (!is_even(shards))
      return fmt::format("unequal shares of {} on its tensor-parallel members", axis);
  }
  if (!is_even(stage.sharding_groups()))
    return "runs of unequally many replicas that divide their state";
  if (!is_even(stage.zero_slices)) return "unequal slices of the state on its replicas";
  for (const Block& block : stage.blocks) {
    if (shares_experts_evenly(stage, block)) continue;
    return fmt::format("layers {} to {} divided in another way than its others", block.layers.begin,
                       block.layers.end - 1);
  }
  return "";
}

std::string stage_difference(const Stage& first, const Stage& stage) {
  if (stage.replicas != first.replicas)
    return fmt::format("{} and {} replicas", first.replicas, stage.replicas);
  if (stage.tensor_parallel != first.tensor_parallel)
    return fmt::format("{} and {} tensor-parallel members", first.tensor_parallel,
                       stage.tensor_parallel);
  if (stage.recompute != first.recompute)
    return fmt::format("recompute \"{}\" and \"{}\"", to_string(first.recompute),
                       to_string(stage.recompute));
  if (stage.replicas > 1 && stage.zero_stage != first.zero_stage)
    return fmt::format("ZeRO stages {} and {}", first.zero_stage, stage.zero_stage);
  if (stage.zero_stage > 0 && stage.sharding_groups() != first.sharding_groups())
    return "other runs of replicas that divide their state";
  if (stage.offload != first.offload) return "optimizer states on devices and on hosts";
  if (stage.offload_activations != first.offload_activations)
    return "activations on devices and on hosts";
  if (expert_members(stage) != expert_members(first) && !stage.blocks.empty() &&
      !first.blocks.empty())
    return "experts that are divided by different numbers of replicas";
  return "";
}

bool is_even_grid(const Plan& plan) {
  return std::all_of(plan.stages.begin(), plan.stages.end(), [&](const Stage& stage) {
    return stage_difference(plan.stages.front(), stage).empty() && uneven_part(stage).empty();
  });
}

}  // namespace pptrain
