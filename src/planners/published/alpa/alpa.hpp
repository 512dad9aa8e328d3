#pragma once

#include <string>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Alpa's two levels, exactly: contiguous stages over a sequence of sub-meshes (2^k devices of a
/// node, or whole nodes) that make up the whole cluster in device order, and for every layer the
/// replicas x tensor_parallel of its stage's devices, with the cost of changing from one to
/// another. Of all these plans and all micro-batch sizes the one with the least AMP Eq. 4. Samples
/// are divided as evenly as whole ones allow; recomputation and ZeRO stage are those of the
/// configuration, else none.
///
/// Fixed degrees of `[parallelism]` hold for every stage, which then has no blocks.
class AlpaPlanner : public Planner {
 public:
  std::string name() const override { return "alpa"; }
  bool tabulates_layers() const override { return true; }
  std::string description() const override {
    return "stages on sub-meshes, a division for every layer (Alpa)";
  }
  Outcome search(const SearchSpace& space) const override;
};

}  // namespace pptrain
