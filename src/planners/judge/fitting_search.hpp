#pragma once

#include <functional>

#include "planners/ask/planner.hpp"
#include "planners/judge/simulated_plan.hpp"

namespace pptrain {

/// A search, for instance of a planner.
using Search = std::function<Outcome(const SearchSpace&)>;

/// Every plan that a search returns passes through here: the outcome with its plan predicted by
/// simulation, or by the larger closed form where it is too large to simulate. A plan that does not
/// fit in the simulator is dropped, and the search goes on to the next best one (docs/planning.md):
/// `search` is called again with a check in the space, and with a part of the memory set aside for
/// what the closed forms leave out. Where nothing is found the outcome says which of the dropped
/// plans came nearest, and what would help.
///
/// `outcome` is what `search` found in the space, which has no check; `simulator` is one of its
/// instance.
Outcome only_fitting(const SearchSpace& space, PlanSimulator& simulator, const Search& search,
                     Outcome outcome);

}  // namespace pptrain
