#pragma once

#include <map>
#include <utility>
#include <vector>

#include "planners/published/amp/uniform_search.hpp"

namespace pptrain {

/// Divisions by rule, which depend on the number of stages alone.
class RuledDivisions {
 public:
  explicit RuledDivisions(const Profile& profile);
  /// The reference stays valid.
  const std::vector<Interval>& of(DivisionRule rule, int stages);

 private:
  std::vector<double> parameters_;  // of each layer
  std::map<std::pair<DivisionRule, int>, std::vector<Interval>> known_;
};

}  // namespace pptrain
