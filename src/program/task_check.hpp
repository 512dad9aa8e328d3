#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "program/program.hpp"
#include "program/ties.hpp"

namespace pptrain {

/// What a device adds at an end of a tied parameter that lies on its stage.
struct TiedRows {
  int end = 0;
  int other = 0;                 ///< the end whose gradient it is
  int shard = 0;                 ///< of the device at its own
  std::optional<Interval> rows;  ///< nothing: none
};

/// What following one program on its own shows.
struct TaskReport {
  std::string violation;  ///< empty: none
  std::vector<TiedRows> tied_rows;
};

/// Follows one program: inputs whole before tasks, every task once and in the order F, B, W, the
/// gradients of a chunk reduced once and after its last W, gathered weights there while they are
/// needed and no longer. `ends`: those of the tied parameters (`tie_ends`).
TaskReport check_tasks(const Plan& plan, const Program& program, const std::vector<TieEnd>& ends);

}  // namespace pptrain
