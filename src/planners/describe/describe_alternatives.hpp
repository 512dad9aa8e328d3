#pragma once

#include <string>

#include "plan/plan.hpp"

namespace pptrain {

/// What other planners found, a row each; those of which the row says the same share one.
std::string alternatives_text(const Plan& plan);

/// What other planners found in a few words, the fastest first: "1.20 x amp, whale; 1.33 x
/// megatron"; those whose plans do not fit last.
std::string alternatives_in_short(const Plan& plan);

}  // namespace pptrain
