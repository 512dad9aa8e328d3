#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.hpp"
#include "planners/search.hpp"

namespace pptrain {

/// How good a plan is, where time is not all that counts.
struct Worth {
  double excess = 0.0;  ///< by how much it misses what it has to keep to, as a part of that; 0: it
                        ///< keeps to all
  double value = 0.0;   ///< what is to be small
  /// Compares by `excess`, and by `value` where both miss equally much.
  bool better_than(const Worth& other) const;
};

/// Judges a plan of the whole cluster, which has `predicted`; may add to that.
using JudgePlan = std::function<Worth(Plan& plan)>;

/// The plan of an instance whose cluster is `with_nodes(cluster, nodes)` as one of `cluster`:
/// devices have the numbers that they have there.
Plan plan_of_whole(Plan plan, const Cluster& cluster, const std::vector<int>& nodes);

/// Plans an instance on parts of its cluster and keeps what is best by a judge. All parts are
/// planned once, with little effort, several at a time on a thread each, so that the outcome does
/// not depend on how many there are.
class PartSearch {
 public:
  struct Part {
    std::vector<int> nodes;    ///< of each group of the cluster
    std::optional<Plan> plan;  ///< of the whole cluster; nothing: none was found
    Worth worth = {};
    std::string why_not = {};
    bool complete = false;
  };

  /// The judge outlives it.
  PartSearch(const SearchRequest& request, const JudgePlan& judge)
      : request_(request), judge_(judge) {}

  /// Plans those of the parts that were not planned yet.
  void look_at(const std::vector<std::vector<int>>& parts);
  /// Plans neighbours of the best part, with more and fewer nodes of one group, until none is
  /// better.
  void climb();
  /// Plans a part as thoroughly as the restrictions say.
  Part planned_well(const std::vector<int>& nodes) const;

  /// The best part so far; null: no plan was found on any.
  const Part* best() const;
  /// The parts that were planned, in the order in which they were looked at.
  const std::vector<Part>& parts() const { return parts_; }

 private:
  Part planned(const std::vector<int>& nodes, const Restrictions& restrictions,
               SearchProgress* progress) const;
  bool is_known(const std::vector<int>& nodes) const;

  SearchRequest request_;
  const JudgePlan& judge_;
  std::vector<Part> parts_;
};

}  // namespace pptrain
