#pragma once

#include <vector>

#include "comm/waiter.hpp"

namespace pptrain {

/// A rank that has fallen behind: a straggler.
struct DriftingRank {
  int rank = 0;
  double factor = 1.0;            ///< how many times as long as expected it computes
  double seconds = 0.0;           ///< of computation in a step, in the window
  double expected_seconds = 0.0;  ///< of computation in a step, as expected
};

/// Compares what ranks compute with what the plan predicts, window by window.
///
/// A rank is expected to compute as long as its prediction times a calibration, the ratio of the
/// two in the first window of a plan: a profile may be off by far, on a busy machine by a factor of
/// two. Where every rank has a core of its own, a rank whose first ratio is above the (lower)
/// median of all ranks is calibrated by that median, so that a device that was slow from the start
/// is found; where ranks share cores the time of a rank depends on who else computes, and each has
/// its own. What most ranks share is no drift: the factor is the ratio of measured and expected
/// over the lower median of these ratios, where that is above 1.
class DriftWatch {
 public:
  /// Ranks drift above `limit`.
  DriftWatch(double limit, CoreUse core_use) : limit_(limit), core_use_(core_use) {}

  /// A plan begins under which rank r is predicted to compute predicted[r] seconds per step, 0
  /// without a device.
  void restart(std::vector<double> predicted);

  /// Ends a window in which rank r computed measured[r] seconds per step. Ranks that drift, in
  /// order.
  std::vector<DriftingRank> end_window(const std::vector<double>& measured);

 private:
  void calibrate(const std::vector<double>& measured);
  std::vector<double> ratios(const std::vector<double>& measured) const;

  double limit_;
  CoreUse core_use_;
  std::vector<double> expected_;  ///< seconds by rank
  bool calibrated_ = false;
};

}  // namespace pptrain
