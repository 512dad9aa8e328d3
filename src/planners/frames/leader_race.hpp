#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "planners/frames/local_search.hpp"

namespace pptrain {

/// Improves plans in rounds, each for itself. From every round the faster half of those that are
/// not done goes on with twice the work, so that most are left behind after few steps; the last
/// ones have all of it. Results do not depend on the number of threads.
class LeaderRace {
 public:
  /// Orders that are searched are kept in `orders`. `space` must outlive it.
  LeaderRace(const SearchSpace& space, std::shared_ptr<KnownOrders> orders)
      : space_(space), orders_(std::move(orders)) {}

  /// Improves the leaders by steps of one kind. `most_at_last`: how many are left in the last
  /// round, at most; `work`: simulated tasks that these have. Returns the search of each leader.
  std::vector<LocalSearch> run(std::vector<TriedPlan>& leaders, std::size_t most_at_last,
                               LocalSearch::Kind kind, double work, OrderEffort effort);
  /// Frees what was simulated.
  void forget() { simulators_.clear(); }

 private:
  void improve(std::vector<TriedPlan>& leaders, const std::vector<std::size_t>& running,
               std::vector<LocalSearch>& searches, KnownPlans& visited, double work,
               OrderEffort effort);

  const SearchSpace& space_;
  std::shared_ptr<KnownOrders> orders_;
  std::map<OrderEffort, std::vector<std::unique_ptr<PlanSimulator>>> simulators_;  // by thread
};

}  // namespace pptrain
