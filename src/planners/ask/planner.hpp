#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.hpp"
#include "cost/cost.hpp"
#include "plan/plan.hpp"
#include "planners/ask/progress.hpp"
#include "planners/ask/restrictions.hpp"

namespace pptrain {

class PlanSimulator;

/// Says whether plans that fit by the closed forms are to be taken.
class PlanCheck {
 public:
  virtual ~PlanCheck() = default;
  /// Whether the plan, which is valid, may be taken.
  virtual bool accepts(const Plan& plan) = 0;
  /// Who is asked.
  virtual PlanSimulator& simulator() = 0;
};

/// What a search works on.
struct SearchSpace {
  const Instance& instance;
  const Restrictions& restrictions;
  std::string schedule = "1f1b";  ///< of the plans
  Stop stop = Stop();             ///< when to end with the best so far
  PlanCheck* check = nullptr;  ///< asked before a plan is taken; null: closed forms alone say what
                               ///< fits
  /// Who is told how far the search is; null: nobody.
  SearchProgress* progress = nullptr;

  /// Tells `progress`, if any, what is done from here on: "asking alpa".
  void tell_asks(const std::string& planner) const {
    if (progress != nullptr) progress->asks(planner);
  }
  /// Tells `progress`, if any, that so many more candidates were looked at.
  void tell_examined(std::int64_t more) const {
    if (progress != nullptr) progress->examined(more);
  }
  /// Tells `progress`, if any, of a plan that takes so many seconds; only the least counts.
  void tell_found(double iteration_seconds) const {
    if (progress != nullptr) progress->found(iteration_seconds);
  }
  /// Tells `progress`, if any, that another form judges plans from here on, so that times before no
  /// longer count.
  void tell_judges_anew() const {
    if (progress != nullptr) progress->judges_anew();
  }
};

/// Whether the plan obeys restrictions that no single choice does: it is a uniform grid that
/// divides everything evenly where only such are wanted, and one that the trainer runs whose plans
/// are wanted.
bool obeys_rules(const SearchSpace& space, const Plan& plan);

/// Whether the search is to leave out a plan that fits by the closed forms, because it does not in
/// the simulator, or because it does not obey the rules.
bool is_refused(const SearchSpace& space, const Plan& plan);

/// The best plan of one uniform grid, for the table that people read.
struct GridCandidate {
  int pipeline = 1;
  int data = 1;
  int tensor = 1;
  std::optional<Plan> plan;  ///< with `predicted`; nothing when none fits or a bound left the grid
                             ///< out
  std::string why_not;       ///< what does not fit, or how long it takes at least
};

/// What another planner found, for showing beside.
struct Beside {
  std::string planner;
  std::optional<Plan> plan;
  std::string why_not;  ///< when it found none
};

/// What a planner found.
struct Outcome {
  std::optional<Plan> plan;  ///< made by `finished_plan`; nothing when nothing fits
  std::string why_not;       ///< when nothing was found: what does not fit, and by how much
  std::int64_t num_examined = 0;
  bool complete = true;              ///< false: ended by `stop` before the whole space was searched
  std::vector<GridCandidate> grids;  ///< best plan of each grid, fastest first; only of searches
                                     ///< over grids
  std::vector<Plan> seeds;           ///< other plans that are worth a simulation
  std::vector<Beside> beside;        ///< what the planners found that this one asked
  bool no_frame = false;  ///< whether the restrictions leave no shape at all, whatever the memory
};

/// The name of the planner that searches all spaces, by simulation.
inline constexpr const char* auto_planner = "auto";

/// One way of searching plans. Implementations hold no state: searching twice gives the same plan.
class Planner {
 public:
  virtual ~Planner() = default;
  /// As `--planner` and `[planner] name` call it.
  virtual std::string name() const = 0;
  /// What it does, in one line for people.
  virtual std::string description() const = 0;
  /// Whether it is the planner that searches all spaces.
  bool is_auto() const { return name() == auto_planner; }
  /// What it makes small: the name of a closed form, or "simulation".
  virtual std::string form() const { return "amp"; }
  /// Whether it keeps the cost of every run of layers: it plans no more than
  /// `most_tabulated_layers`.
  virtual bool tabulates_layers() const { return false; }
  /// Whether planner `auto` asks it too, for some seconds, along with all others that say so. One
  /// that plans only few instances, or takes long for what others find, says no.
  virtual bool is_asked_by_auto() const { return true; }
  /// What its plans are; restrictions that leave none of them are refused before it searches.
  virtual PlanScope scope() const { return PlanScope::any; }
  /// The instance can be costed and the restrictions are checked. The plan, when there is one, is
  /// valid, obeys the restrictions, fits in memory by the closed forms, and is none that the check
  /// of the space refuses.
  virtual Outcome search(const SearchSpace& space) const = 0;
};

/// Two times that differ by less than this part of the smaller one are a tie.
constexpr double tie_tolerance = 1e-12;

/// The plan with its names and everything that is predicted of it, but the lower bound, which
/// `search_plan` adds. `estimate_seconds` is the form that the planner of this name minimises.
Plan finished_plan(const SearchSpace& space, Plan plan, const std::string& planner);

}  // namespace pptrain
