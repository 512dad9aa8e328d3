#pragma once

#include <functional>
#include <map>
#include <string>

namespace pptrain {

/// What one core reaches at best.
struct PeakRates {
  std::map<std::string, double> flops = {};  ///< FLOP per second in matrix products, by precision
  double memory_bandwidth = 0.0;  ///< bytes per second, read and written, of arrays larger than its
                                  ///< caches

  bool operator==(const PeakRates&) const = default;
};

/// How the rank that speaks for a kind of processor comes to its rates: by measuring, or from what
/// was kept.
using FindPeakRates = std::function<PeakRates()>;

/// The highest rates that one core is seen to reach, by the calling thread's CPU time: the best of
/// many products of several sizes, for fp32, bf16 and fp16, and of some copies of 64 MiB. What the
/// processor does not multiply itself is multiplied in fp32, so no rate is below that of fp32.
/// Rounded to three digits. Takes a second.
PeakRates measure_peak_rates();

/// What the rates depend on: the processor, and the libraries and instructions that multiply.
std::string peak_rates_key();

}  // namespace pptrain
