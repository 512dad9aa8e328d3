#pragma once

#include <string>

#include "model/model.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Refuses blocks that this version's runtime cannot execute. Throws `Error` (exit code 2) with
/// `source` as the place.
void check_blocks_executable(const Plan& plan, const Model& model, const std::string& source);

}  // namespace pptrain
