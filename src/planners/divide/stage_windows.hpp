#pragma once

#include <vector>

#include "base/watched_stop.hpp"
#include "planners/divide/division_bound.hpp"

namespace pptrain {

/// The layers that each stage may hold within the caps and the memory. A stage that may hold
/// [begin, end) may hold less of it too, so one end per begin says it all.
class StageWindows {
 public:
  StageWindows(const DivisionProblem& problem, const StageCaps& caps);

  int num_stages() const { return stages_; }
  int num_layers() const { return layers_; }
  /// Layers at which the stage may begin: every earlier and later stage is left one at least.
  int first_begin(int stage) const { return stage; }
  /// The last such layer; `first_begin` is the first one.
  int last_begin(int stage) const { return stage == 0 ? 0 : layers_ - (stages_ - stage); }
  /// Ends of the stage that begins there: none where the first is above the last.
  int first_end(int stage, int begin) const { return stage + 1 == stages_ ? layers_ : begin + 1; }
  /// The largest end within caps and memory, below `first_end` where the stage cannot begin there.
  int last_end(int stage, int begin) const { return last_ends_[stage * layers_ + begin]; }

 private:
  int stages_;
  int layers_;
  std::vector<int> last_ends_;  // [stage][begin]
};

/// The least sum of t_i and e_i of the first stages with the first layers, within windows. A stop
/// leaves those that are not known by then infinite.
class LeastSums {
 public:
  LeastSums(const DivisionProblem& problem, const StageWindows& windows, WatchedStop& stop);

  /// The sum of the first `stages` stages with the first `layers` layers; infinite where there is
  /// no way.
  double of(int stages, int layers) const {
    return sums_[stages * (windows_.num_layers() + 1) + layers];
  }
  /// Seconds of t_i and e_i of the best whole division; infinite where the windows leave none or
  /// the stop came first.
  double total() const { return of(windows_.num_stages(), windows_.num_layers()); }
  /// A division with that total, which must be finite.
  std::vector<Interval> division() const;

 private:
  double sum_with(int stage, int begin, int end) const {
    return of(stage, begin) + problem_.stage_seconds(stage, begin, end) +
           problem_.cut_seconds(stage, end);
  }

  const DivisionProblem& problem_;
  const StageWindows& windows_;
  std::vector<double> sums_;  // [stages][layers]
};

}  // namespace pptrain
