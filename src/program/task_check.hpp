#pragma once

#include <optional>
#include <string>

#include "plan/plan.hpp"
#include "program/program.hpp"

namespace pptrain {

/// What following one program on its own shows.
struct TaskReport {
  std::string violation;              ///< empty: none
  std::optional<Interval> tied_rows;  ///< whose gradient comes from another stage
};

/// Follows one program: inputs whole before tasks, every task once and in the order F, B, W, the gradients of a
/// chunk reduced once and after its last W, gathered weights there while they are needed and no longer.
TaskReport check_tasks(const Plan& plan, const Program& program);

}  // namespace pptrain
