#pragma once

#include "options.hpp"

namespace pptrain {

/// `pptrain profile --from PLANNER PATH`: the profile of another planner as PROFILE.json, with what
/// was read and what was taken beside it. Needs no machine. What is wrong throws `Error` (exit code
/// 2) before anything is written.
void run_conversion(const Options& options);

}  // namespace pptrain
