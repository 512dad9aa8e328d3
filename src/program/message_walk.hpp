#pragma once

#include <string>

#include "plan/plan.hpp"
#include "program/program.hpp"

namespace pptrain {

/// Whether replicas of a stage run each task by themselves, or wait for one another in its passes,
/// as batch norms make them do: the members of a tensor-parallel group wait for one another in any
/// case.
enum class ReplicaTasks { apart, meet };

/// Runs all programs with infinitely fast devices: a program advances unless it waits for a message
/// that was not sent, or to gather with those who need the same, or in a task for its stage. What
/// cannot end is a cycle of waits or a missing send. Returns the first violation as text; empty
/// when there is none.
std::string walk_messages(const Plan& plan, const Programs& programs,
                          ReplicaTasks replicas = ReplicaTasks::apart);

}  // namespace pptrain
