#pragma once

#include <cstdint>

#include "planners/ask/plan_rule.hpp"

namespace pptrain {

/// A trainer that runs what it is made to.
struct MadeRule : PlanRule {
  TrainerKind kind = {.name = "made",
                      .title = "Made",
                      .runtime = "made",
                      .alike_stages = false,
                      .zero_alone = {0},
                      .zero_tensor = {0},
                      .zero_staged = {0}};
  std::int64_t layers_of_block = 1;  ///< chunks begin where a block does
  int most_members = 8;              ///< of a tensor-parallel group
  std::int64_t least_samples = 1;    ///< of a micro-batch
  bool runs_pipelines = true;

  const TrainerKind& trainer() const override { return kind; }
  bool allows_degree(int tensor_parallel) const override { return tensor_parallel <= most_members; }
  bool allows_pipeline() const override { return runs_pipelines; }
  bool allows_cut(std::int64_t layer) const override { return layer % layers_of_block == 0; }
  bool allows(const Instance& /*instance*/, const Plan& plan) const override {
    for (const Stage& stage : plan.stages) {
      if (!allows_degree(stage.tensor_parallel)) return false;
      for (const Interval& chunk : stage.layers) {
        if (!allows_cut(chunk.begin)) return false;
      }
    }
    return plan.micro_batch_size >= least_samples;
  }
};

}  // namespace pptrain
