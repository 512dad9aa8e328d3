#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planners/meshes/balanced_mesh.hpp"

namespace pptrain {

/// Names of the patterns by which the members of `mesh` divide these layers, as blocks of a stage
/// with `samples` of each replica: one for each run of layers with the same pattern.
std::vector<Block> blocks_of(const Instance& instance, const StageMesh& mesh,
                             const std::vector<Interval>& samples, Interval layers);

/// How the devices of a stage divide its layers: `base` for the layers in no run, `runs` for the
/// others.
struct SharedMeshes {
  const StageMesh& base;
  const StageMesh& runs;
};

/// A stage whose devices divide some runs of its layers differently from the others (Whale's
/// Example 2: features replicated, the classifier split). Both meshes consist of the same devices
/// in the same order.
class SharedStage {
 public:
  /// `micro_batch` holds a sample for each replica of both meshes.
  SharedStage(const Instance& instance, SampleTimes& times, const SharedMeshes& meshes,
              std::int64_t micro_batch, StageOption option, double in_flight);

  /// What it takes with the shares by speed.
  struct Cost {
    double seconds = 0.0;           ///< F + B + W of one micro-batch, re-partitions too
    double gradient_seconds = 0.0;  ///< all-reduces
  };
  /// Cost of a stage with these layers, whether it fits or not; `runs`: ascending, disjoint parts
  /// for the mesh of runs.
  Cost cost(Interval layers, const std::vector<Interval>& runs) const;
  /// No more than that takes of the seconds.
  double least_seconds(Interval layers) const;
  /// The stage with the samples of the base balanced within the memory that the runs leave; nothing
  /// when it does not fit.
  std::optional<Stage> stage(Interval layers, const std::vector<Interval>& runs) const;
  /// The stage whose largest shortage of memory is least.
  Stage tightest_stage(Interval layers, const std::vector<Interval>& runs) const;

 private:
  /// A maximal interval of layers that are divided alike.
  struct Piece {
    Interval layers;
    bool is_run = false;
  };
  static std::vector<Piece> pieces(Interval layers, const std::vector<Interval>& runs);
  std::vector<LoadClass> classes(const std::vector<Piece>& pieces) const;
  Stage stage_with(const std::vector<ClassShare>& shares, Interval layers,
                   const std::vector<Interval>& runs) const;

  const Instance& instance_;
  const StageMesh& base_mesh_;
  const StageMesh& runs_mesh_;
  std::int64_t micro_batch_;
  StageOption option_;
  double in_flight_;
  BalancedMesh base_;
  BalancedMesh runs_;
  std::vector<SampleTimes::Row*> rows_;  // of each class of the base
  std::vector<double> runs_load_;  // largest one that a device of each class of the base has in the
                                   // runs
  Link slowest_;                   // between any two devices
  double into_runs_ = 0.0;         // samples that some device lacks on the way into a run
  double out_of_runs_ = 0.0;       // samples that some device lacks on the way out of a run
};

}  // namespace pptrain
