#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cost/layer_sums.hpp"
#include "planners/ask/restrictions.hpp"
#include "planners/divide/stage_label.hpp"
#include "planners/meshes/layout.hpp"

namespace pptrain {

/// How the stages of a uniform grid save memory, all alike.
struct StageModes {
  Recompute recompute = Recompute::none;
  int zero_stage = 0;
};
/// What the configuration fixes; what it leaves to `auto` is none.
StageModes modes_of(const Restrictions& restrictions);

/// Division of the layers over the stages of one grid with one micro-batch size: what each stage
/// costs with layers [begin, end). AMP Eq. 4 is
/// (m-1) max stage_seconds + sum stage_seconds + sum cut_seconds + max gradient_seconds.
/// None of these falls when a stage grows.
class DivisionProblem {
 public:
  /// `micro_batch`: samples of all replicas together, which share them evenly; where that cannot
  /// be, every replica counts as the one with most. `sums`, of the same instance, keeps the times
  /// of layers from one problem to the next, and has to outlive this.
  DivisionProblem(const Instance& instance, LayerSums& sums, const GridLayout& layout,
                  std::int64_t micro_batch, const std::string& schedule, StageModes modes = {});

  int num_stages() const { return static_cast<int>(stages_.size()); }
  int num_layers() const { return static_cast<int>(parameters_.size()) - 1; }
  /// Samples of all replicas together.
  std::int64_t micro_batch() const { return micro_batch_; }
  /// Eq. 4 for its number of micro-batches.
  const PipelineForm& form() const { return form_; }

  /// t_i: F + B + W of one micro-batch on the slowest replica, in seconds, with what ZeRO stage 3
  /// gathers.
  double stage_seconds(int stage, int begin, int end) const {
    const Kind& kind = this->kind(stage);
    double slowest = 0.0;
    for (const double* total : kind.totals) slowest = std::max(slowest, total[end] - total[begin]);
    return slowest + largest(kind.gathers, parameters(begin, end));
  }
  /// Seconds of the gradient all-reduce of the shard that takes longest.
  double gradient_seconds(int stage, int begin, int end) const {
    return largest(kind(stage).gradients, parameters(begin, end));
  }
  /// Seconds of the cut after layer `end - 1`, which is the last one of `stage`; 0 behind the last
  /// stage.
  double cut_seconds(int stage, int end) const { return kind(stage).cuts[end]; }
  /// Bytes that a device of the stage needs.
  double memory_need(int stage, int begin, int end) const {
    return kind(stage).model_bytes * (parameters_[end] - parameters_[begin]) / tensor_ +
           samples_ * (stages_[stage].in_flight * (stored_[end] - stored_[begin])) + workspace_;
  }
  /// Bytes that the smallest device of a stage has.
  double memory(int stage) const { return kind(stage).memory; }
  /// Whether the smallest device of the stage has room for these layers.
  bool fits(int stage, int begin, int end) const {
    return memory_need(stage, begin, end) <= memory(stage);
  }

  /// Stage `stage` with these layers and the cut behind it.
  StageLabel label(int stage, int begin, int end) const {
    const double seconds = stage_seconds(stage, begin, end);
    return {seconds + cut_seconds(stage, end), seconds, gradient_seconds(stage, begin, end)};
  }
  /// Eq. 4 of a division.
  double iteration_seconds(const std::vector<Interval>& layers) const;
  /// Whether every stage fits; `layers`: of each stage in order.
  bool fits(const std::vector<Interval>& layers) const;

  /// Stages that cost the same but for the micro-batches in flight are of one kind.
  int num_kinds() const { return static_cast<int>(kinds_.size()); }
  /// Stages of one kind.
  int num_stages_of(int kind) const { return kinds_[kind].num_stages; }
  /// A stage of the kind takes no less for its layers than the difference of these, of the first l
  /// layers, and the time beside that does not depend on its layers.
  const std::vector<double>& least_seconds(int kind) const { return kinds_[kind].least_seconds; }
  /// Seconds that a stage of the kind takes at least beside `least_seconds`, whatever its layers.
  double least_seconds_beside(int kind) const { return kinds_[kind].least_beside; }
  /// Seconds of the cut behind a stage of the kind, at least.
  double least_cut_seconds(int kind) const { return kinds_[kind].least_cut; }
  /// All-reduce of the gradients of as many parameters.
  double gradient_seconds_of(int kind, double parameters) const {
    return largest(kinds_[kind].gradients, parameters);
  }
  /// Parameters of layers [begin, end), of all tensor-parallel members together.
  double parameters(int begin, int end) const { return parameters_[end] - parameters_[begin]; }

 private:
  /// Seconds of a collective by the parameters whose gradients or weights it moves.
  struct Collective {
    double per_parameter = 0.0;
    double latency = 0.0;
  };
  static double largest(const std::vector<Collective>& collectives, double parameters) {
    double slowest = 0.0;
    for (const Collective& c : collectives)
      slowest = std::max(slowest, c.per_parameter * parameters + c.latency);
    return slowest;
  }
  struct Kind {
    int num_stages = 0;
    std::vector<const double*> totals;  ///< of each distinct replica, seconds of the first l layers
    std::vector<Collective> gathers;  ///< of weights, with ZeRO stage 3, in each distinct group of
                                      ///< replicas
    std::vector<Collective> gradients;  ///< all-reduces in each
    std::vector<double> cuts;           ///< [l]: between the first l layers and the others
    std::vector<double> least_seconds;
    double least_beside = 0.0;
    double least_cut = 0.0;
    double memory = 0.0;
    double model_bytes = 0.0;  ///< per parameter: weight, gradient, optimizer
  };
  struct PlacedStage {
    int kind = 0;
    double in_flight = 1.0;
  };

  const Kind& kind(int stage) const { return kinds_[stages_[stage].kind]; }
  Kind kind_of(const Profile& profile, LayerSums& sums, const Grid& grid, const StageLayout& layout,
               const StageModes& modes) const;
  void add_collectives(const BytesPerParameter& bytes, const StageLayout& layout,
                       const StageModes& modes, Kind& kind) const;
  void add_bounds(Kind& kind) const;

  std::int64_t micro_batch_;
  double samples_;  ///< of the replica with most of them
  PipelineForm form_;
  double tensor_;
  double workspace_;
  std::vector<PlacedStage> stages_;
  std::vector<Kind> kinds_;
  std::vector<double> parameters_;  ///< of the first l layers
  std::vector<double> stored_;      ///< bytes per sample of the first l layers
};

}  // namespace pptrain
