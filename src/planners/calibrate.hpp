#pragma once

#include <string>

#include "cost/cost.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// By what a measured iteration of a plan scales the times of layers.
struct Calibration {
  double factor = 1.0;             ///< of F, B, W and the optimizer's step of all layers
  double measured_seconds = 0.0;   ///< of an iteration
  double predicted_seconds = 0.0;  ///< of it, before
};

/// Multiplies the times of all layers, communication is as before.
void scale_times(Profile& profile, double factor);

/// The factor with which the simulated iteration of `plan` takes `measured_seconds`. Throws `Error`
/// (exit code 2), with `source` as the place, where none between a tenth and ten does: then the
/// measurement is of something else.
Calibration calibrate(const Instance& instance, const Plan& plan, double measured_seconds,
                      const std::string& source);

}  // namespace pptrain
