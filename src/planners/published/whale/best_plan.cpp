#include "planners/published/whale/best_plan.hpp"

#include <algorithm>

#include "planners/meshes/grid.hpp"

namespace pptrain {

void BestPlan::offer(const SearchSpace& space, Plan plan, Key key) {
  if (!why_not_fit(space.instance, plan).empty()) return;
  const double seconds = amp_terms(space.instance, plan).iteration_seconds;
  const bool ties = plan_ && seconds <= seconds_ * (1.0 + tie_tolerance) && key < key_;
  if (seconds >= seconds_ * (1.0 - tie_tolerance) && !ties) return;
  if (is_refused(space, plan)) return;
  plan_ = std::move(plan);
  seconds_ = seconds;
  key_ = std::move(key);
}

Plan plan_with(const SearchSpace& space, std::int64_t micro_batch, int stages) {
  Plan plan;
  plan.global_batch_size = space.instance.global_batch_size;
  plan.micro_batch_size = micro_batch;
  plan.micro_batches = plan.global_batch_size / micro_batch;
  plan.schedule.name = space.schedule;
  plan.stages.resize(static_cast<std::size_t>(stages));
  return plan;
}

std::vector<std::int64_t> micro_batches_for(const SearchSpace& space, int replicas) {
  std::vector<std::int64_t> sizes = divisors(space.instance.global_batch_size);
  if (space.restrictions.micro_batch_size) sizes = {*space.restrictions.micro_batch_size};
  std::erase_if(sizes, [replicas](std::int64_t size) { return size < replicas; });
  return sizes;
}

double fullest_use(const Instance& instance, const Plan& plan) {
  const std::vector<double> need = memory_bytes(instance, plan);
  double use = 0.0;
  for (std::size_t d = 0; d < need.size(); ++d) {
    use = std::max(use, need[d] / instance.cluster.kind_of(DeviceId(static_cast<int>(d))).memory);
  }
  return use;
}

}  // namespace pptrain
