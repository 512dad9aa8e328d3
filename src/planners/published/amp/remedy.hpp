#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planners/divide/grid_problems.hpp"

namespace pptrain {

/// Whether a planner would find a plan that fits under these restrictions.
using FitsUnder = std::function<bool(const Restrictions&)>;

/// What would make a plan fit where none does, to append to the reason: each single change of the
/// configuration that helps by itself, or else recomputation and ZeRO together; or that none helps.
/// "" where the stop comes before that is known.
std::string remedy(const Restrictions& restrictions, const FitsUnder& fits_under, const Stop& stop);

/// Grids that a planner tries under some restrictions.
using GridsUnder = std::function<std::vector<Grid>(const Restrictions&)>;
/// Whether some division that the planner makes fits.
using Fits = std::function<bool(const DivisionProblem&)>;
/// For a planner over uniform grids. A larger micro-batch needs no less memory, so the smallest one
/// is tried.
FitsUnder fits_on_grids(const SearchSpace& space, const GridsUnder& grids, const Fits& fits);
/// For planners that divide layers in any way. False where the stop comes before that is known.
bool fits_somehow(const DivisionProblem& problem, const Stop& stop);

/// ", or offload = true" where a plan on a grid fits with its optimizer state on the host, and only
/// then: to append to a remedy for a planner that offloads. "" where the state may be there already
/// or devices have no link to their host.
std::string offload_remedy(const SearchSpace& space);

}  // namespace pptrain
