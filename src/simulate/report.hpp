#pragma once

#include <string>

#include "simulate/simulate.hpp"

namespace pptrain {

/// What stands beside a simulated makespan.
struct Comparison {
  std::map<std::string, double> estimates;
  double lower_bound_seconds = 0.0;
};

/// `pptrain.simulation/1`.
std::string simulation_json(const Simulation& simulation, const Programs& programs,
                            const Comparison& comparison);

/// The pipeline as characters: a row per device, time from left to right; a task is F, B or W, the
/// number of its micro-batch and dashes, in small letters for chunks after the device's first; "."
/// is idle. "" where there are more than 16 devices or 200 of the shortest task, or nothing was
/// recorded.
std::string pipeline_picture(const Simulation& simulation, const Programs& programs);

}  // namespace pptrain
