#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// The planners that search a space of their own by a closed form: those of papers, and what they
/// are compared with.
const std::vector<std::unique_ptr<Planner>>& published_planners();
/// The planner of that name, which there must be one of these.
const Planner& published_planner(const std::string& name);

}  // namespace pptrain
