#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "program/program.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// Periods of task orders: from some task on a stage runs the same tasks again and again, each time
/// for micro-batches whose numbers are higher by the same amount, as 1F1B does between warm-up and
/// end.
struct RepeatedTasks {
  struct OfStage {
    std::size_t begin = 0;   ///< the first task of the first period
    std::size_t length = 0;  ///< tasks of a period
    int periods = 0;         ///< whole ones
  };
  int micro_batches = 0;  ///< of a period, the same number on all stages
  std::vector<OfStage> stages;

  /// Periods of the stage that has fewest.
  int periods() const;
};

/// The shortest period in which the orders of `micro_batches` micro-batches repeat around their
/// middle; nothing where a stage has none.
std::optional<RepeatedTasks> repeated_tasks(const std::vector<TaskOrder>& orders,
                                            int micro_batches);

/// The orders without `periods` of the periods that repeat: those of a pipeline with fewer
/// micro-batches, which begins and ends in the same way. Nothing where what is left does not run
/// each of fewer micro-batches once.
std::optional<std::vector<TaskOrder>> without_periods(const std::vector<TaskOrder>& orders,
                                                      const RepeatedTasks& repeated, int periods);

/// Instructions of a program that repeat: from `begin` on each is the same as the one `length`
/// before it, but for the micro-batch, up to `end`.
struct RepeatedInstructions {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::size_t end = 0;
};

/// The repeated instructions of a program that was compiled from an order with these periods of so
/// many micro-batches.
RepeatedInstructions repeated_instructions(const Program& program,
                                           const RepeatedTasks::OfStage& tasks, int micro_batches);

}  // namespace pptrain
