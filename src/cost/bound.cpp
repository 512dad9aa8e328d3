#include <algorithm>
#include <limits>

#include "cost/micro_batch_bounds.hpp"

namespace pptrain {
namespace {

constexpr double rounding = 1.0 - 1e-12;  // sums are taken in another order than a plan's

}  // namespace

double lower_bound_seconds(const Instance& instance, std::optional<Recompute> recompute) {
  const BoundInputs inputs(instance, recompute);
  const std::int64_t batch = instance.global_batch_size;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t m : micro_batch_counts(batch)) {
    const auto samples = static_cast<double>(batch / m);
    const double busy = static_cast<double>(m) * stage_seconds(inputs, samples);
    least = std::min(least, std::max(busy, path_seconds(inputs, samples)));
  }
  return least * rounding;
}

}  // namespace pptrain
