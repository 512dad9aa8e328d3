#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "base/stop.hpp"
#include "planners/divide/stage_label.hpp"
#include "planners/meshes/balanced_mesh.hpp"

namespace pptrain {

/// A stage of a pipeline whose devices are given and whose layers are not.
struct ChainStage {
  const BalancedMesh* mesh = nullptr;
  double in_flight = 1.0;                          ///< micro-batches whose activations it holds
  int first_end = 0;                               ///< its layers end here at the earliest
  int last_end = std::numeric_limits<int>::max();  ///< its layers end here at the latest
};

/// Division of the layers over the stages of a pipeline: what AMP Eq. 4,
/// (m-1) max t_i + sum t_i + sum e_i + max gradient all-reduce, takes of them.
class ChainProblem {
 public:
  ChainProblem(const Instance& instance, std::vector<ChainStage> stages, double micro_batches);

  int num_stages() const { return static_cast<int>(stages_.size()); }
  int num_layers() const { return num_layers_; }
  const ChainStage& stage(int i) const { return stages_[i]; }  ///< stage i in layer order, from 0
  /// Eq. 4 for its number of micro-batches.
  const PipelineForm& form() const { return form_; }
  /// e_i of the cut behind stage i and layer `end` - 1; 0 behind the last stage.
  double cut_seconds(int i, int end) const { return cuts_[i][end]; }

  /// What the stages before `stage` take for the layers before `layer` at least.
  struct Least {
    double sum = 0.0;      ///< of t_i and e_i
    double slowest = 0.0;  ///< t_i
  };
  /// Bounds, in seconds, for stages [0, stage) with layers [0, layer), with the cuts behind each of
  /// them.
  Least least_before(int stage, int layer) const { return least_[stage][layer]; }
  /// No division of the layers takes less.
  double lower_bound() const;

 private:
  void find_cuts(const Instance& instance);
  void find_least();
  double least_gradient_seconds() const;

  std::vector<ChainStage> stages_;
  int num_layers_;
  PipelineForm form_;
  std::vector<std::vector<double>> cuts_;  // [stage][end]
  std::vector<double> least_cut_;          // of each stage
  std::vector<std::vector<Least>> least_;  // [stages][layers]
};

struct ChainDivision {
  double seconds = 0.0;  ///< Eq. 4, with the samples by which the cuts were costed
  std::vector<Interval> layers;
  std::vector<StageCost> costs;  ///< of each stage
};

/// The division with the least Eq. 4 below `limit` that fits; nothing when there is none, or when
/// `stop` came first. Exact for the times, cuts and all-reduces of the problem: a dynamic programme
/// from the last stage to the first with Pareto labels (sum, max t, max all-reduce), as for uniform
/// grids, without the labels that cannot end below the limit.
std::optional<ChainDivision> divide_chain(const ChainProblem& problem, double limit,
                                          const Stop& stop);

/// The division whose largest shortage of memory, in parts of it, is least; for saying by how much
/// nothing fits.
std::vector<Interval> roomiest_chain(const ChainProblem& problem);

}  // namespace pptrain
