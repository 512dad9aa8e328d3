#pragma once

#include "planners/ask/planner.hpp"

namespace pptrain {

/// The last step of `auto`: of everything that the closed forms found (its plan, those of the planners it asked, the
/// best grids) the plan with the shortest simulated iteration, after a search around it. The fastest few are given
/// every schedule that the restrictions leave, then from the best one steps are taken for as long as one of them helps:
/// another schedule, another micro-batch size, other recomputation or ZeRO stages of one or all stages, a layer over
/// to the neighbouring chunk. A plan fits when the simulated peak of every device does.
///
/// The candidates are simulated in any case until the stop is requested; the search around them ends by its work,
/// counted in tasks, so that the same input gives the same plan. Predictions of `outcome.beside` become simulated too.
Outcome choose_by_simulation(const SearchSpace& space, Outcome outcome);

}  // namespace pptrain
