#pragma once

#include <string>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// All contiguous divisions x replicas x degrees x device assignments up to equal devices x
/// micro-batch sizes, even whole samples, every device used once: the minimum of AMP Eq. 4 over all
/// of them. Larger instances than `most_exhaustive_plans` are refused (`Error`, exit code 2) with
/// their count.
class ExhaustivePlanner : public Planner {
 public:
  std::string name() const override { return "exhaustive"; }
  std::string description() const override { return "every plan of a small instance"; }
  bool is_asked_by_auto() const override { return false; }  // `auto` asks it last, if at all
  Outcome search(const SearchSpace& space) const override;
};

/// Number of plans that the exhaustive planner searches; infinite where it exceeds a double.
double count_exhaustive_plans(const SearchSpace& space);
constexpr double most_exhaustive_plans = 1e11;

/// Searches all plans of the exhaustive planner for one faster than `limit` seconds; no plan where
/// there is none. The instance must be small enough (`most_exhaustive_plans`).
Outcome search_exhaustively(const SearchSpace& space, double limit);

}  // namespace pptrain
