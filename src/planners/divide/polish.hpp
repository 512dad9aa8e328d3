#pragma once

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Improves a plan by small steps for as long as one of them makes it faster and it still fits: a
/// layer over to the neighbouring stage, a sample over to another replica, two devices of different
/// nodes exchanged, two stages of equal shape exchanging all devices. Returns a finished plan, at
/// least as fast as `plan`. Plans on more than `most_polished_devices` devices are only shifted by
/// layers.
Outcome polish(const SearchSpace& space, const Plan& plan);
constexpr int most_polished_devices = 64;

}  // namespace pptrain
