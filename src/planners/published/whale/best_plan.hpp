#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// The best of the plans that a search makes, by AMP Eq. 4.
class BestPlan {
 public:
  /// What decides ties, in this order: stages, replicas, degree, micro-batch size, then what
  /// the search adds.
  using Key = std::vector<std::int64_t>;

  /// Takes the plan, without names and predictions, if it fits and is faster than the best one, or
  /// as fast and before it in the order of ties.
  void offer(const SearchSpace& space, Plan plan, Key key);

  /// The best plan so far, without names and predictions; nothing when no offer was taken.
  const std::optional<Plan>& plan() const { return plan_; }
  /// Infinite without a plan.
  double seconds() const { return seconds_; }

 private:
  std::optional<Plan> plan_;
  double seconds_ = std::numeric_limits<double>::infinity();
  Key key_;
};

/// A plan of so many stages that say nothing yet.
Plan plan_with(const SearchSpace& space, std::int64_t micro_batch, int stages);

/// Micro-batch sizes that hold a sample for each of so many replicas, ascending.
std::vector<std::int64_t> micro_batches_for(const SearchSpace& space, int replicas);

/// Need over memory of the fullest device.
double fullest_use(const Instance& instance, const Plan& plan);

}  // namespace pptrain
