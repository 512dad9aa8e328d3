#pragma once

#include <vector>

namespace pptrain {

/// Seconds of CPU time of the calling thread: unlike wall time it does not grow when ranks share a core.
double thread_cpu_seconds();

/// The middle value, or the mean of the two in the middle; 0 for none.
double median(std::vector<double> values);

}  // namespace pptrain
