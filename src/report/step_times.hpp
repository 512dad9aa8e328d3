#pragma once

#include <cstdint>
#include <vector>

#include "io/run/metrics_history.hpp"

namespace pptrain {

/// Seconds of training until each row of /steps, over all jobs of a run: iterations that have no
/// row took as long as the next one that has. Stops between jobs, preparations and checkpoints do
/// not count.
std::vector<double> training_seconds(const MetricsHistory& history);

}  // namespace pptrain
