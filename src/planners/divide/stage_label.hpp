#pragma once

#include <algorithm>

namespace pptrain {

/// What AMP's Eq. 4 needs to know of some neighbouring stages.
struct StageLabel {
  double sum = 0.0;       ///< seconds of all t_i and e_i
  double slowest = 0.0;   ///< seconds of the largest t_i
  double gradient = 0.0;  ///< seconds of the largest gradient all-reduce
};

/// The label of stages that follow one another.
inline StageLabel combined(const StageLabel& a, const StageLabel& b) {
  return {a.sum + b.sum, std::max(a.slowest, b.slowest), std::max(a.gradient, b.gradient)};
}

/// AMP's Eq. 4 for m micro-batches: (m - 1) max t_i + sum t_i + sum e_i + the largest gradient
/// all-reduce.
class PipelineForm {
 public:
  explicit PipelineForm(double micro_batches) : repeats_(micro_batches - 1.0) {}

  /// m - 1.
  double repeats() const { return repeats_; }
  /// Seconds of an iteration.
  double seconds(const StageLabel& label) const {
    return repeats_ * label.slowest + label.sum + label.gradient;
  }
  /// Whether an iteration with `a` takes no longer than one with `b` in its place, whatever other
  /// stages there are: the larger maxima of `a` cost it no more than its smaller sum saves.
  bool covers(const StageLabel& a, const StageLabel& b) const { return most_sum(a, b) <= b.sum; }
  /// Whether an iteration with `a` takes at most `slack` seconds longer than one with `b` in its
  /// place, whatever other stages there are.
  bool covers(const StageLabel& a, const StageLabel& b, double slack) const {
    return most_sum(a, b) <= b.sum + slack;
  }

 private:
  /// The sum of `a` with what its maxima cost more than those of `b` at most.
  double most_sum(const StageLabel& a, const StageLabel& b) const {
    return a.sum + repeats_ * std::max(0.0, a.slowest - b.slowest) +
           std::max(0.0, a.gradient - b.gradient);
  }

  double repeats_;
};

}  // namespace pptrain
