#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/frames/frame_trials.hpp"
#include "planners/frames/steps_ahead.hpp"
#include "planners/judge/known_plans.hpp"
#include "planners/judge/simulated_plan.hpp"

namespace pptrain {

/// Improves one plan by the steps of `neighbours.hpp`, for as long as one of them makes its
/// simulated iteration shorter and still fits. The same plan is improved in the same way whatever
/// else is searched: the search pauses by its own work alone, counted in simulated tasks, or ends
/// at the stop.
class LocalSearch {
 public:
  /// Kinds of steps that a search may take.
  enum class Kind {
    all,
    cuts,      ///< layers over cuts between chunks
    schedules  ///< another schedule
  };
  /// `space` must outlive it.
  explicit LocalSearch(const SearchSpace& space, Kind kind = Kind::all)
      : space_(space), steps_(steps_of(kind)) {}

  /// Improves the plan by simulating `work` more tasks; `plan.seconds` is its simulated iteration,
  /// or what a closed form says where it is too large for that. Ends at a plan that is in
  /// `visited`, from which another search has gone on. Called again with what it made of the plan,
  /// it goes on where it paused. Steps are offered to the threads that serve `ahead`, if it is not
  /// null, which changes nothing but the time that the search takes.
  void improve(PlanSimulator& simulator, const KnownPlans& visited, TriedPlan& plan, double work,
               StepsAhead* ahead = nullptr);
  /// Whether `improve` would do nothing more.
  bool ended() const { return ended_; }
  /// The plans from which `improve` looked for steps, the given one first.
  const std::vector<Plan>& path() const { return path_; }

  /// Simulations that `improve` has asked for in all, with those that the simulator remembered.
  std::int64_t num_simulated() const { return num_simulated_; }
  /// Whether no step helps any more, rather than that the work or the time was spent.
  bool complete() const { return complete_; }
  /// What was tried in place of the schedule of a plan that `improve` returned.
  std::vector<ScheduleAlternative> schedules_beside(const Plan& plan) const;

 private:
  /// Steps that are judged alike.
  struct Steps {
    std::vector<Plan> (*of)(const SearchSpace&, const Plan&);  ///< plans that are one step from a
                                                               ///< plan
    /// A step is worth an order of its own that takes, in the order of the plan before it, less
    /// than this times the seconds of that plan; infinite: that is not looked at.
    double most_in_order;
    bool best_of_all;       ///< whether all of them are judged before one is taken
    std::size_t first = 0;  ///< the one that is tried first
  };
  static std::vector<Steps> steps_of(Kind kind);
  /// A list of steps from one plan, as far as it has been gone through.
  struct Begun {
    Plan from;
    std::size_t done = 0;              ///< steps that were judged
    std::optional<std::size_t> taken;  ///< the last one that helped
  };
  struct Result {
    double seconds = 0.0;
    std::string why_not;
  };

  bool begin(const KnownPlans& visited, TriedPlan& plan);
  bool has_own_order(TriedPlan& plan);
  bool take_one(TriedPlan& plan, Steps& steps);
  /// A step that was offered to other threads.
  struct Offered {
    std::size_t place = 0;  ///< in the list of steps
    std::shared_ptr<StepsAhead::Task> task;
  };
  Step step_of(const TriedPlan& plan, const Plan& step, double most_in_order);
  void offer_ahead(const TriedPlan& plan, const Steps& steps, const std::vector<Plan>& others,
                   std::size_t place);
  std::shared_ptr<StepsAhead::Task> offered_at(std::size_t place);
  void withdraw_offers();
  bool may_help(const TriedPlan& plan, const Plan& step) const;
  bool take(TriedPlan& plan, const Plan& step, double most_in_order,
            const std::shared_ptr<StepsAhead::Task>& offered);
  /// Whether a step that does not fit is tried with slices of the state by room too.
  enum class Slices { as_they_are, by_room };
  bool take_in_own_order(TriedPlan& plan, const Plan& step, const SimulatedPlan& result,
                         Slices slices);
  bool take_with_slices(TriedPlan& plan, const Plan& step, const SimulatedPlan& refused);
  void remember(const Plan& plan, const SimulatedPlan& result);
  bool can_pay(double work);
  void pay(const SimulatedPlan& result);
  double least_seconds(const Plan& plan) const;
  bool needless(const Plan& plan) const;

  const SearchSpace& space_;
  std::vector<Steps> steps_;
  PlanSimulator* simulator_ = nullptr;                    // while `improve` runs
  StepsAhead* ahead_ = nullptr;                           // while `improve` runs
  std::deque<Offered> offered_;                           // the next ones of the list
  std::shared_ptr<const std::vector<TaskOrder>> orders_;  // the fastest of the plan, once they were
                                                          // asked for
  double work_left_ = 0.0;
  bool complete_ = true;
  bool ended_ = false;
  std::size_t kind_ = 0;         // of the steps that are tried
  std::size_t idle_ = 0;         // kinds that did not help since the last one that did
  std::optional<Begun> paused_;  // where the search goes on
  std::int64_t num_simulated_ = 0;
  std::vector<Plan> path_;
  KnownPlans tried_;
  std::vector<Result> results_;  // of `tried_`
};

}  // namespace pptrain
