#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/planner_names.hpp"
#include "planners/ask/planner.hpp"

namespace pptrain {

/// Makes a planner; each file of a planner defines its own.
#define PPTRAIN_PLANNER_FACTORY(identifier, name) \
  std::unique_ptr<Planner> make_##identifier##_planner();
PPTRAIN_FOR_EACH_PLANNER(PPTRAIN_PLANNER_FACTORY)
#undef PPTRAIN_PLANNER_FACTORY

/// The planners that search a space of their own by a closed form: those of papers, and what they
/// are compared with.
const std::vector<std::unique_ptr<Planner>>& published_planners();
/// The planner of that name, which there must be one of these.
const Planner& published_planner(const std::string& name);
/// Names of the planners that `auto` asks along with its own search, AMP's first, whose grids are
/// shown.
std::vector<std::string> asked_by_auto(const std::vector<std::unique_ptr<Planner>>& planners);

}  // namespace pptrain
