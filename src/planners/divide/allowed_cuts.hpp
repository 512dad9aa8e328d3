#pragma once

#include <cstdint>
#include <vector>

#include "planners/ask/plan_rule.hpp"

namespace pptrain {

/// The chunks with each cut at the nearest layer at which the rule lets a chunk begin, and a layer
/// at least in each of them; empty where there are too few such layers. The same chunks where there
/// is no rule.
std::vector<Interval> with_allowed_cuts(const PlanRule* rule, std::vector<Interval> chunks);

/// The next layer behind `cut` (step 1) or before it (step -1) at which a chunk may begin, or the
/// first one outside the layers; `cut + step` without a rule.
std::int64_t next_allowed_cut(const PlanRule* rule, std::int64_t cut, int step,
                              std::int64_t num_layers);

}  // namespace pptrain
