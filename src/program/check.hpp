#pragma once

#include "plan/plan.hpp"
#include "program/message_walk.hpp"
#include "program/program.hpp"
#include "program/ties.hpp"

namespace pptrain {

/// Proves before a run that the programs of a plan can be executed: every send has its receive
/// with an equal interval and every receive its send, the waits have no cycle, each task's inputs
/// arrive before it runs, every (chunk, micro-batch) runs F and then B and W once on every device
/// of its stage, and the collectives of a group come in the same order on its members.
/// `ties`: the tied parameters that the programs were compiled for. Where replicas meet, a task
/// that passes through layers goes on when all devices of its stage have come to it. Aborts with
/// the first violation: programs are made by pptrain, so it is a broken invariant.
void check_programs(const Plan& plan, const Programs& programs, const std::vector<Tie>& ties = {},
                    ReplicaTasks replicas = ReplicaTasks::apart);

/// The first violation that `check_programs` finds, as text; empty when there is none.
std::string find_violation(const Plan& plan, const Programs& programs,
                           const std::vector<Tie>& ties = {},
                           ReplicaTasks replicas = ReplicaTasks::apart);

}  // namespace pptrain
