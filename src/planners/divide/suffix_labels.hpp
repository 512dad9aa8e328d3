#pragma once

#include <vector>

#include "planners/divide/stage_label.hpp"
#include "planners/divide/stage_windows.hpp"

namespace pptrain {

/// Labels of the last stages for every number of layers that are left to them. AMP's dynamic
/// programme keeps one label per value of max t_i; Pareto labels over (sum, max t_i, max
/// all-reduce) also hold the gradient term of Eq. 4, and need no discretisation.
///
/// The search is for divisions within the windows, with maxima no less than `least`'s, which take
/// `limit` at most. So a label's maxima count as `least`'s where they are below; and a label goes
/// where even the least sum before it would exceed the limit.
class SuffixLabels {
 public:
  SuffixLabels(const DivisionProblem& problem, const StageWindows& windows, const LeastSums& before,
               const StageLabel& least, double limit);

  /// Makes the labels; false when there would be more than `most_labels` or the stop comes first,
  /// and then nothing can be asked.
  bool make(std::size_t most_labels, WatchedStop& stop);

  /// The least time of the layers from `begin` on in the stages from `stage` on, after stages with
  /// the label `before`; infinite when there is none within the limit.
  double best_after(const StageLabel& before, int stage, int begin) const;

 private:
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::size_t index(int stage, int begin) const {
    return static_cast<std::size_t>(stage) * (windows_.num_layers() + 1) + begin;
  }
  void insert(const StageLabel& label);
  void extend(int stage, int begin, WatchedStop& stop);

  const DivisionProblem& problem_;
  const StageWindows& windows_;
  const LeastSums& before_;
  StageLabel least_;
  double limit_;
  std::vector<StageLabel> labels_;
  std::vector<Span> spans_;           // [stage][first layer], into labels_
  std::vector<StageLabel> frontier_;  // of the state that is being extended
};

}  // namespace pptrain
