#include "planners/divide/least_overrun.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cost/overrun.hpp"

namespace pptrain {

void LeastOverrun::take(const Instance& instance, const Plan& plan) {
  take(instance, plan, memory_bytes(instance, plan));
}

void LeastOverrun::take(const Instance& instance, const Plan& plan,
                        const std::vector<double>& need) {
  double use = 0.0;
  for (int d = 0; d < instance.cluster.num_devices(); ++d) {
    use = std::max(use, need[d] / instance.cluster.kind_of(DeviceId(d)).memory);
  }
  if (use >= use_) return;
  use_ = use;
  text_ = fmt::format("{} with micro-batches of {}: {}", plan.shape(), plan.micro_batch_size,
                      overrun_by_parts(instance, plan, need));
}

}  // namespace pptrain
