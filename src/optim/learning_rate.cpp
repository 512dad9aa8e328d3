#include "optim/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pptrain {

double learning_rate(const OptimizerConfig& optimizer, const LrSchedulerConfig& scheduler,
                     std::int64_t step, std::int64_t steps) {
  const double full = optimizer.learning_rate;
  const auto warm_up = static_cast<double>(scheduler.warmup_steps);
  const double number = static_cast<double>(step) + 1.0;
  if (number <= warm_up) return full * number / warm_up;
  if (scheduler.kind == LrSchedule::constant) return full;
  if (scheduler.kind == LrSchedule::step) {
    const double falls =
        std::floor((number - 1.0 - warm_up) / static_cast<double>(scheduler.step_interval));
    return std::max(scheduler.minimum, full * std::pow(scheduler.step_factor, falls));
  }
  // The rate begins to fall behind this step.
  const double begin = scheduler.kind == LrSchedule::wsd
                           ? static_cast<double>(steps - scheduler.decay_steps)
                           : warm_up;
  const double span = std::max(1.0, static_cast<double>(steps) - begin);
  const double progress = std::clamp((number - begin) / span, 0.0, 1.0);
  const double share = scheduler.kind == LrSchedule::cosine
                           ? 0.5 * (1.0 + std::cos(std::numbers::pi * progress))
                           : 1.0 - progress;
  return scheduler.minimum + (full - scheduler.minimum) * share;
}

}  // namespace pptrain
