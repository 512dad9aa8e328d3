#pragma once

#include "config/config.hpp"

namespace pptrain {

/// Learning rate of `step` (from 0): linear warm-up over `warmup_steps`, then constant, or a
/// cosine or straight line to `minimum`, which the last of `steps` reaches.
double learning_rate(const OptimizerConfig& optimizer, const LrSchedulerConfig& scheduler, std::int64_t step,
                     std::int64_t steps);

}  // namespace pptrain
