#pragma once

#include <string>

#include "plan/plan.hpp"
#include "program/program.hpp"

namespace pptrain {

/// Runs all programs with infinitely fast devices: a program advances unless it waits for a message that was not sent,
/// or to gather with those who need the same. What cannot end is a cycle of waits or a missing send. Returns the first
/// violation as text; empty when there is none.
std::string walk_messages(const Plan& plan, const Programs& programs);

}  // namespace pptrain
