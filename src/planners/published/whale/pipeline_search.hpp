#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "planners/divide/chain_division.hpp"
#include "planners/published/whale/best_plan.hpp"
#include "planners/published/whale/task_graphs.hpp"
#include "planners/published/whale/virtual_devices.hpp"

namespace pptrain {

/// Devices for some TaskGraphs.
struct PipelineLayout {
  TaskGraphs graphs;
  int order = 0;  ///< of `virtual_devices`, even shards before uneven ones
  std::vector<StageMesh> meshes;
};

/// One layout with one micro-batch size.
struct PipelineCandidate {
  const PipelineLayout* layout = nullptr;
  std::int64_t micro_batch = 0;
};

/// Searches pipelines of TaskGraphs: for each layout and micro-batch size the samples balanced
/// inside the stages and the layers divided between them (Whale 3.3), for the least AMP Eq. 4.
class PipelineSearch {
 public:
  /// `times` belong to the same instance.
  PipelineSearch(const SearchSpace& space, SampleTimes& times);

  /// Adds TaskGraphs with all orders of their devices.
  void add(const TaskGraphs& graphs);
  /// Searches what was added, that with the least lower bound first.
  void run();

  const BestPlan& best() const { return best_; }  ///< the best plan that `run` found
  bool complete() const { return complete_; }     ///< false: the stop was requested during `run`
  /// Layouts with a micro-batch size whose layers `run` divided; bounds leave out the others.
  std::int64_t num_examined() const { return num_examined_; }
  /// The layout that comes closest to fitting, with what does not fit and by how much.
  std::string why_not();

 private:
  /// The stages of a candidate with their samples, and what they cost.
  struct Costs {
    std::deque<BalancedMesh> meshes;
    std::optional<ChainProblem> problem;
  };
  struct Bounded {
    PipelineCandidate candidate;
    double bound = 0.0;
  };

  void add(const TaskGraphs& graphs, int order, const VirtualDevices& devices,
           const std::vector<Shards>& shards);
  std::vector<std::int64_t> micro_batches(const PipelineLayout& layout) const;
  void make_costs(const PipelineCandidate& candidate, Costs& costs);
  void examine(const Bounded& bounded);
  BestPlan::Key key_of(const PipelineCandidate& candidate) const;
  Plan plan_of(const PipelineCandidate& candidate, const Costs& costs,
               const ChainDivision& division, bool refined) const;
  std::vector<Block> pattern_blocks(const StageMesh& mesh, const Stage& stage) const;
  Plan tightest_plan(const PipelineCandidate& candidate, const Costs& costs) const;

  const SearchSpace& space_;
  SampleTimes& times_;
  std::vector<StageOption> options_;
  std::deque<PipelineLayout> layouts_;
  BestPlan best_;
  bool complete_ = true;
  std::int64_t num_examined_ = 0;
};

}  // namespace pptrain
