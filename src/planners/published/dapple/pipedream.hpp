#pragma once

#include <string>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// PipeDream's planner (Narayanan et al., SOSP 2019, section 3.1), with which DAPPLE compares: the
/// pipeline with the fastest slowest stage, where a stage of m replicas takes max(compute,
/// all-reduce of its weights) over m of what one device needs, and a cut takes both directions of
/// its activations. It plans in two levels, first pipelines inside a node, then such pipelines on
/// one or more nodes each, with the slowest link of either level.
///
/// PipeDream plans for asynchronous training: it sees neither filling and draining of the pipeline
/// nor memory, and has no micro-batches. So it plans once for each micro-batch size, and the plan
/// that is fastest when trained synchronously is taken of those that fit. Where nodes differ, those
/// of a level-2 stage are of one group.
class PipeDreamPlanner : public Planner {
 public:
  std::string name() const override { return "pipedream"; }
  std::string form() const override { return name(); }
  bool tabulates_layers() const override { return true; }
  std::string description() const override {
    return "PipeDream: fastest slowest stage, nodes inside a hierarchy";
  }
  Outcome search(const SearchSpace& space) const override;
};

}  // namespace pptrain
