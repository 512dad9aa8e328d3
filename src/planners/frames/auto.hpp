#pragma once

#include <string>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// The union of all spaces, ranked by predicted iteration time.
class AutoPlanner : public Planner {
 public:
  std::string name() const override { return auto_planner; }
  std::string form() const override { return "simulation"; }
  std::string description() const override { return "the best of all spaces"; }
  Outcome search(const SearchSpace& space) const override;
};

}  // namespace pptrain
