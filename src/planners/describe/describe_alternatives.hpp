#pragma once

#include <string>

#include "plan/plan.hpp"

namespace pptrain {

/// What other planners found, a row each; those of which the row says the same share one.
std::string alternatives_text(const Plan& plan);

}  // namespace pptrain
