#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "planners/judge/simulated_plan.hpp"

namespace pptrain {

/// A step of a local search, which is to be simulated.
struct Step {
  Plan plan;
  /// The orders of the plan before it, in which it is simulated first; null: it is simulated in
  /// orders of its own.
  std::shared_ptr<const std::vector<TaskOrder>> orders;
  double most_seconds = 0.0;  ///< a step that takes as long in these orders, or longer, is not
                              ///< worth orders of its own
  double best = 0.0;          ///< seconds of the plan before it
};

/// What a step comes to.
struct TriedStep {
  bool can = false;                       ///< whether it is small enough to be simulated
  std::optional<SimulatedPlan> in_order;  ///< in the orders of the plan before it
  std::optional<SimulatedPlan> own;       ///< in its own, where it is worth these
};

/// Simulates the step: what comes out does not depend on what the simulator did before.
TriedStep try_step(PlanSimulator& simulator, const Step& step);

/// Steps that a local search will ask for if it takes none before, simulated by threads that have
/// nothing else to do. A search looks at its steps one after another, and few of them help.
class StepsAhead {
 public:
  class Task;  ///< a step that was offered
  /// Steps that one search offers at a time, at most.
  static constexpr std::size_t most_offered = 8;

  /// `num_searches`: searches that are to end, however many threads there are for them.
  explicit StepsAhead(std::size_t num_searches) : num_searches_(num_searches) {}

  /// Whether any thread serves.
  bool is_served();
  /// Adds a step for the threads that serve.
  std::shared_ptr<Task> offer(Step step);
  /// Takes back a step that is not asked for any more.
  void withdraw(const std::shared_ptr<Task>& task);
  /// What a step comes to. Until it is known the calling thread simulates steps that wait, this one
  /// first. Throws what simulating it threw.
  TriedStep result_of(const std::shared_ptr<Task>& task, PlanSimulator& simulator);
  /// Tells that one of the searches has ended.
  void end_search();
  /// Simulates steps that are offered, until all searches have ended.
  void serve(PlanSimulator& simulator);

 private:
  void run(const std::shared_ptr<Task>& task, PlanSimulator& simulator,
           std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Task>> waiting_;
  std::size_t num_searches_;  ///< those that have not ended
  int num_serving_ = 0;
};

}  // namespace pptrain
