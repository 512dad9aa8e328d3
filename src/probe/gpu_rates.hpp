#pragma once

#include <map>
#include <string>

#include "cuda/gpu_info.hpp"

namespace pptrain {

/// FLOP per second by precision that a GPU reaches at most, from its number of multiprocessors,
/// their clock and what one of its compute capability does in a clock; empty where the driver does
/// not tell the clock.
std::map<std::string, double> peak_flops(const GpuInfo& gpu);

}  // namespace pptrain
