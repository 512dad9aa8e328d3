#include <algorithm>
#include <limits>

#include "cost/amp_bound.hpp"
#include "cost/micro_batch_bounds.hpp"

namespace pptrain {
namespace {

constexpr double rounding = 1.0 - 1e-12;  // sums are taken in another order than a plan's

}  // namespace

double lower_bound_seconds(const Instance& instance, const MemorySavings& savings) {
  const BoundInputs inputs(instance, savings);
  const std::int64_t batch = instance.global_batch_size;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t m : micro_batch_counts(batch)) {
    const auto samples = static_cast<double>(batch / m);
    const double busy =
        static_cast<double>(m) * micro_batch_bounds(inputs, samples, CollectiveLaw::any).stage_seconds();
    least = std::min(least, std::max(busy, path_seconds(inputs, samples, CollectiveLaw::any)));
  }
  return least * rounding;
}

double amp_lower_bound_seconds(const Instance& instance, const MemorySavings& savings) {
  return std::max(lower_bound_seconds(instance, savings),
                  amp_bound_seconds(BoundInputs(instance, savings), instance.global_batch_size) * rounding);
}

double core_lower_bound_seconds(const Instance& instance) {
  const BoundInputs inputs(instance, {});
  std::vector<double> cores;
  for (const UsedKind& kind : inputs.kinds) cores.push_back(kind.cores);
  const auto batch = static_cast<double>(instance.global_batch_size);
  return share_work(layer_work(inputs, batch, CollectiveLaw::any), cores).seconds * rounding;
}

}  // namespace pptrain
