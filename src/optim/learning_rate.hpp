#pragma once

#include "config/config.hpp"

namespace pptrain {

/// Learning rate of `step` (from 0): linear warm-up over `warmup_steps`, then as the scheduler's
/// name says. Cosine, straight line and wsd (constant, then a straight line) reach `minimum` at the
/// last of `steps`; steps go no lower.
double learning_rate(const OptimizerConfig& optimizer, const LrSchedulerConfig& scheduler,
                     std::int64_t step, std::int64_t steps);

}  // namespace pptrain
