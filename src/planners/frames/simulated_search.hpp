#pragma once

#include "planners/ask/planner.hpp"

namespace pptrain {

/// The last step of `auto`: of everything that the closed forms found (its plan, those of the
/// planners it asked, the best grids) and of the frames' best plans (`search_frames`) the one with
/// the shortest simulated iteration, after a search around each of the fastest (`LocalSearch`). A
/// plan fits when the simulated peak of every device does.
///
/// The candidates are simulated in any case until the stop is requested; the searches around them
/// end by their work, counted in tasks, so that the same input gives the same plan. Predictions of
/// `outcome.beside` become simulated too.
Outcome choose_by_simulation(const SearchSpace& space, Outcome outcome);

}  // namespace pptrain
