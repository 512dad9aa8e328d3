#pragma once

#include <functional>
#include <map>
#include <string>

namespace pptrain {

/// FLOP per second of one core in matrix products, by precision.
using PeakRates = std::map<std::string, double>;

/// How the rank that speaks for a kind of processor comes to its rates: by measuring, or from what was kept.
using FindPeakRates = std::function<PeakRates()>;

/// The highest rates that one core is seen to reach: the best of many products of several sizes, by the calling
/// thread's CPU time, for fp32, bf16 and fp16. What the processor does not multiply itself is multiplied in fp32, so no
/// rate is below that of fp32. Rounded to three digits. Takes a second.
PeakRates measure_peak_rates();

/// What the rates depend on: the processor, and the libraries and instructions that multiply.
std::string peak_rates_key();

}  // namespace pptrain
