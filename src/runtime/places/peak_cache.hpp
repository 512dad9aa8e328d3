#pragma once

#include <string>

#include "probe/peak_rates.hpp"

namespace pptrain {

/// The peak rates of this rank's processor, measured once and kept in the user's cache by processor
/// and libraries, so that the utilisation of all jobs is counted from the same ones. A damaged file
/// is a warning, and measured anew.
PeakRates kept_peak_rates();

/// The peak rates of the processor and libraries of `key`: those kept in the file `path` ("":
/// nothing is kept), else what `measure` gives, which is kept there. A damaged file is a warning,
/// and measured anew.
PeakRates kept_peak_rates(const std::string& path, const std::string& key,
                          const FindPeakRates& measure);

}  // namespace pptrain
