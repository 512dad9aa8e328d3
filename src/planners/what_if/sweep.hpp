#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planners/objective.hpp"
#include "planners/what_if/axis.hpp"

namespace pptrain {

/// A point of a sweep: a job and a cluster, as `pptrain plan` would plan them.
struct SweepPoint {
  std::vector<std::string> values;  ///< of each axis; "-" of one that says nothing of this cluster
  Config config;
  Cluster cluster;
  Profile profile;
  std::vector<Tie> ties;
  std::string planner;
  Restrictions restrictions;
  std::optional<double> training_tokens;
  std::string refusal = "";  ///< why it cannot be planned, where that is so: then it has values and
                             ///< cluster alone
};

/// What a point comes to.
struct SweepRow {
  std::vector<std::string> values;  ///< of each axis
  Cluster cluster;
  std::optional<Plan> plan;  ///< with `speed`, `cost` and `failures` predicted; nothing: none was
                             ///< found
  std::optional<double> tokens_per_sample;  ///< nothing: samples are no tokens
  std::string why_not;                      ///< where there is no plan
  bool is_refused = false;                  ///< where that is bad input
  bool on_front = false;  ///< no other point takes less time and no more money, or less money and
                          ///< no more time

  /// Seconds of a token, or of a sample where `per_sample`.
  double seconds_each(bool per_sample) const;
  /// Money of a token or sample; hours of devices where there are no prices.
  double money_each(bool per_sample) const;
  /// Whether there is a plan and the price of its steps is known.
  bool has_money() const {
    return plan && plan->predicted->cost && plan->predicted->cost->money_per_step;
  }
};

/// A sweep that was planned.
struct Sweep {
  std::vector<SweepAxis> axes;
  std::vector<SweepRow> rows;  ///< in the order of the points
  int num_planned = 0;         ///< searches: points that differ in nothing but prices share one
  std::string currency;        ///< "": no prices, hours of devices stand in for money
  bool counts_tokens = true;   ///< false: samples of some point are no tokens, and samples are
                               ///< counted
  double seconds = 0.0;        ///< that planning took

  /// Whether a plan was found for any point.
  bool has_plans() const;
};

/// Says how many of the searches are done.
using SweepProgress = std::function<void(int done, int all)>;

/// Plans all points, each distinct one once on a thread of its own, `threads` at a time, within the
/// time limit of its configuration. A point that no plan fits, or whose restrictions contradict its
/// cluster, has a row with the reason. Plans are those of `search_by_objective` with one thread, so
/// that no number of threads changes them. Prices in several currencies throw `Error` (exit code
/// 2).
Sweep run_sweep(std::vector<SweepAxis> axes, const std::vector<SweepPoint>& points, int threads,
                const SweepProgress& progress = {});

/// Marks the rows that no other row beats in time and money.
void mark_front(Sweep& sweep);

}  // namespace pptrain
