#pragma once

#include <algorithm>

namespace pptrain {

/// ZeRO stages 1 and 2 on one device: a layer's weights are gathered as soon as the step before has
/// updated them, one layer after another. Times count from the end of that step.
class Publication {
 public:
  /// `update_seconds`: of all layers.
  explicit Publication(double update_seconds)
      : updated_(-update_seconds), arrived_(-update_seconds) {}

  /// The next layer; returns when its first F can end at the earliest.
  double forward_end(double update, double gather, double forward) {
    updated_ += update;
    arrived_ = std::max(arrived_, updated_) + gather;
    end_ = std::max(end_, arrived_) + forward;
    return end_;
  }

 private:
  double updated_;
  double arrived_;
  double end_ = 0.0;
};

}  // namespace pptrain
