#include "planners/frames/simulated_search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "planners/frames/frame.hpp"
#include "planners/frames/frame_search.hpp"
#include "planners/frames/frame_trials.hpp"
#include "planners/frames/leader_race.hpp"
#include "planners/frames/leaders.hpp"
#include "planners/frames/neighbours.hpp"
#include "planners/judge/fit_check.hpp"
#include "planners/judge/fitting_search.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/published/amp/remedy.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

class SimulatedSearch {
 public:
  explicit SimulatedSearch(const SearchSpace& space)
      : space_(space),
        own_simulator_(space.instance),
        simulator_(space.check != nullptr ? space.check->simulator() : own_simulator_),
        race_(space, simulator_.orders()) {}

  Outcome run(Outcome outcome) {
    if (outcome.plan && !obeys_rules(space_, *outcome.plan)) outcome.plan.reset();
    std::vector<Plan> candidates = candidates_of(outcome);
    if (space_.restrictions.expert)
      return run_with_sent_rows(std::move(outcome), std::move(candidates));
    if (!candidates.empty()) {
      consider(candidates);
      if (replace_refused(outcome)) consider(candidates = candidates_of(outcome));
      if (!best_) offer(candidates.front(), infinity);
    }
    add_frames(outcome);
    if (!best_) return outcome;
    return improved(std::move(outcome), candidates);
  }

 private:
  /// Adds the fastest plans of the frames to the leaders.
  void add_frames(Outcome& outcome) {
    if (!space_.restrictions.annotations.empty() || !space_.restrictions.blocks) return;
    space_.tell_asks("searching frames");
    FoundFrames frames = search_frames(space_, best_ ? seconds_ : infinity, simulator_.orders());
    num_examined_ += frames.num_simulated;
    num_varied_ = frames.num_varied;
    complete_ = complete_ && frames.complete;
    const Restrictions& fixed = space_.restrictions;
    const bool free = !fixed.recompute || !fixed.zero_stage;  // then what the papers' planners
                                                              // advise was tried
    if (!best_ && frames.plans.empty())
      outcome.complete = frames.complete;  // then nothing fits, whoever was not done
    outcome.no_frame = !best_ && frames.complete && frames.plans.empty() && frames.why_not.empty();
    if (!best_ && free && !frames.why_not.empty())
      outcome.why_not = frames.why_not + offload_remedy(space_);
    for (FoundFrames::Found& found : frames.plans) {
      offer(found.plan, found.seconds);
      leaders_.push_back({std::move(found.plan), found.seconds});
    }
  }

  static constexpr double most_candidates_work = 2e6;
  static constexpr std::size_t num_grids = 4;  // simulated beside the planners' plans

  /// Plans that are improved, the fastest of different shapes: each one for itself, so their number
  /// costs time alone.
  std::size_t num_leaders() const { return (is_small(space_.instance) ? 40 : 20) + num_varied_; }

  /// Simulated tasks for improving a leader.
  double leader_work() const {
    return (is_small(space_.instance) ? 5e5 : 3e5) * effort_factor(space_.restrictions.effort);
  }

  /// The search where the degree of experts is set: around the plans that have it.
  Outcome run_with_sent_rows(Outcome outcome, std::vector<Plan> found) {
    for (const GridCandidate& grid : outcome.grids) {
      if (grid.plan) found.push_back(*grid.plan);
    }
    std::vector<Plan> candidates;
    if (found.empty()) return outcome;
    for (const Plan& plan : found) {
      for (Plan& other : sent_rows(space_, plan)) candidates.push_back(std::move(other));
    }
    if (candidates.empty()) refuse_expert();
    consider(candidates);
    if (!best_) {
      outcome.plan.reset();
      outcome.why_not = fmt::format("none with experts that {} replicas divide fits",
                                    *space_.restrictions.expert);
      return outcome;
    }
    return improved(std::move(outcome), candidates);
  }

  [[noreturn]] void refuse_expert() const {
    const Restrictions& fixed = space_.restrictions;
    throw_bad_input(
        {fixed.place_of("expert", ""),
         fmt::format("expert = {} on {} devices", *fixed.expert,
                     space_.instance.cluster.num_devices()),
         fmt::format("no plan is known whose experts {} replicas divide", *fixed.expert),
         "use a number that divides the replicas of each stage, which have a device each (tensor = "
         "1), or "
         "\"auto\""});
  }

  /// Improves each of the leaders for itself, and takes the best.
  Outcome improved(Outcome outcome, const std::vector<Plan>& candidates) {
    space_.tell_asks("improving the best plans");
    for (const Plan& candidate : candidates) add_leader(candidate);
    if (leaders_.empty()) leaders_.push_back({*best_, seconds_});
    sort_leaders(leaders_);
    drop_leaders_alike(leaders_, space_.instance.cluster);
    if (leaders_.size() > num_leaders()) leaders_.resize(num_leaders());
    add_schedules_beside(
        improve_leaders(LocalSearch::Kind::all, leader_work(), OrderEffort::brief));
    race_.forget();  // plans of thousands of devices fill hundreds of megabytes
    climb();
    for (Beside& beside : outcome.beside) {
      if (beside.plan && known(*beside.plan)) predict_by_simulation(simulator_, *beside.plan);
      if (beside.plan) predict_by_larger_form(*beside.plan);
    }
    outcome.plan = finished();
    outcome.num_examined += num_examined_;
    outcome.complete = outcome.complete && complete_;
    return outcome;
  }

  /// Improves the leaders, of which few get all of the work, and takes the best. Returns the search
  /// of each.
  std::vector<LocalSearch> improve_leaders(LocalSearch::Kind kind, double work,
                                           OrderEffort effort) {
    const std::size_t most_at_last =
        kind == LocalSearch::Kind::all ? 10 + (num_varied_ + 1) / 2 : 1;
    std::vector<LocalSearch> searches = race_.run(leaders_, most_at_last, kind, work, effort);
    for (std::size_t i = 0; i < leaders_.size(); ++i) {
      num_examined_ += searches[i].num_simulated();
      complete_ = complete_ && searches[i].complete();
      offer(leaders_[i].plan, leaders_[i].seconds);
    }
    return searches;
  }

  /// Moves cuts of the best plans and then looks at other schedules, again and with less work where
  /// another one is better.
  void climb() {
    constexpr int most_rounds = 3;
    double work = climb_work(*best_);
    for (int round = 0; round < most_rounds; ++round, work /= 4.0) {
      const Plan before = *best_;
      climb_cuts(work);
      if (same_plan(before, *best_)) return;
      leaders_ = {{*best_, seconds_}};
      const ScheduleChoice schedule = best_->schedule;
      add_schedules_beside(
          improve_leaders(LocalSearch::Kind::schedules, leader_work(), OrderEffort::full));
      if (best_->schedule == schedule) return;
    }
  }

  /// Compares the best leaders by the orders in which a job runs them, since so far orders were
  /// searched briefly, and moves their cuts for as long as that helps and there is work, since that
  /// of a leader may have ended before.
  void climb_cuts(double work) {
    constexpr std::size_t most_compared = 16;
    constexpr std::size_t most_climbed = 2;
    leaders_.insert(leaders_.begin(), {*best_, seconds_});  // which stays the best of equals
    sort_leaders(leaders_);
    drop_equal_leaders(leaders_);
    if (leaders_.size() > most_compared) leaders_.resize(most_compared);
    judge_leaders();
    sort_leaders(leaders_);
    seconds_ = leaders_.front().seconds;
    best_ = leaders_.front().plan;
    if (leaders_.size() > most_climbed) leaders_.resize(most_climbed);
    improve_leaders(LocalSearch::Kind::cuts, work, OrderEffort::full);
  }

  /// Sets the seconds of leaders to those of the orders in which a job runs them, infinite where
  /// these do not fit, and leaves leaders alone that are too large to simulate.
  void judge_leaders() {
    std::vector<Plan> plans;
    for (const TriedPlan& leader : leaders_) plans.push_back(leader.plan);
    FrameTrials trials(simulator_.instance(), threads_of(space_.restrictions), OrderEffort::full,
                       simulator_.orders());
    const std::vector<TriedPlan> results = trials.simulated(plans, infinity);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool fits = results[i].why_not.empty();
      if (fits && results[i].seconds == infinity) continue;
      leaders_[i].seconds = fits ? results[i].seconds : infinity;
    }
  }

  /// Simulated tasks for moving cuts of a plan: many times what a leader has, or some steps of a
  /// plan on many devices.
  double climb_work(const Plan& plan) const {
    const double usual = is_small(space_.instance) ? 7.5e6 : 2.25e6;
    constexpr double steps = 300.0;
    constexpr double most = 1e7;
    const double of_steps = std::min(most, steps * PlanSimulator::setup_cost(plan));
    return effort_factor(space_.restrictions.effort) * std::max(usual, of_steps);
  }

  /// Goes on with the searches of other planners whose plans do not fit; whether there were any.
  bool replace_refused(Outcome& outcome) {
    bool any = false;
    for (Beside& beside : outcome.beside) {
      if (space_.check != nullptr || !beside.plan || !known(*beside.plan) || fits(*beside.plan))
        continue;
      SearchSpace share = space_;
      share.stop = space_.stop.within(space_.stop.seconds_left() / 2.0);
      const Planner& planner = published_planner(beside.planner);
      const Search search = [&planner](const SearchSpace& space) { return planner.search(space); };
      Outcome refused;
      refused.plan = std::move(beside.plan);
      Outcome found = only_fitting(share, simulator_, search, std::move(refused));
      beside = {beside.planner, std::move(found.plan), std::move(found.why_not)};
      num_examined_ += found.num_examined;
      complete_ = complete_ && found.complete;
      any = true;
    }
    return any;
  }

  /// Different plans that obey the rules, those that the larger form holds fastest first.
  std::vector<Plan> candidates_of(const Outcome& outcome) const {
    std::vector<Plan> plans;
    const auto add = [&](const std::optional<Plan>& plan) {
      const auto same = [&](const Plan& other) { return same_plan(*plan, other); };
      if (plan && obeys_rules(space_, *plan) && std::none_of(plans.begin(), plans.end(), same))
        predict_by_larger_form(plans.emplace_back(*plan));
    };
    add(outcome.plan);
    for (const Beside& beside : outcome.beside) add(beside.plan);
    for (const Plan& plan : outcome.seeds) add(plan);
    for (std::size_t g = 0; g < std::min(num_grids, outcome.grids.size()); ++g)
      add(outcome.grids[g].plan);
    std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) {
      return predicted_seconds(a) < predicted_seconds(b);
    });
    return plans;
  }

  static double predicted_seconds(const Plan& plan) {
    return plan.predicted ? plan.predicted->iteration_seconds : 0.0;
  }

  /// Adds a plan that fits and is not there yet.
  void add_leader(const Plan& plan) {
    const auto same = [&plan](const TriedPlan& leader) { return same_plan(leader.plan, plan); };
    if (!fits(plan) || std::any_of(leaders_.begin(), leaders_.end(), same)) return;
    leaders_.push_back(
        {plan, known(plan) ? simulator_.of(plan).iteration_seconds : predicted_seconds(plan)});
  }

  /// What was tried in place of the schedule of the best plan.
  void add_schedules_beside(const std::vector<LocalSearch>& searches) {
    for (std::size_t i = 0; i < leaders_.size(); ++i) {
      if (!same_plan(leaders_[i].plan, *best_)) continue;
      std::vector<ScheduleAlternative> tried = searches[i].schedules_beside(*best_);
      if (tried.size() > schedules_.size()) schedules_ = std::move(tried);
    }
  }

  bool known(const Plan& plan) const { return simulator_.is_known(plan); }

  /// Simulates the candidates, at least one. Those that are too large count by their larger form;
  /// those that come too late, or beyond the work that candidates may cost together, only where no
  /// other was simulated. Those that do not fit in the simulator, which also counts what is held
  /// for a moment, are left out.
  void consider(std::vector<Plan>& candidates) {
    double work = 0.0;
    bool any_simulated = false;
    for (Plan& plan : candidates) {
      const bool is_new = !known(plan);
      const bool late = best_ && (space_.stop.requested() || work > most_candidates_work);
      if (late) complete_ = false;
      if (!late) predict_by_simulation(simulator_, plan);
      if (is_new && known(plan)) work += simulator_.of(plan).work;
      if (fits(plan) && (!late || !any_simulated)) offer(plan, predicted_seconds(plan));
      any_simulated = any_simulated || known(plan);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Plan& a, const Plan& b) {
      return predicted_seconds(a) < predicted_seconds(b);
    });
  }

  bool fits(const Plan& plan) { return !known(plan) || simulator_.of(plan).why_not.empty(); }

  bool offer(const Plan& plan, double seconds) {
    if (best_ && seconds >= seconds_ * (1.0 - tie_tolerance)) return false;
    best_ = plan;
    seconds_ = seconds;
    space_.tell_found(seconds);
    return true;
  }

  Plan finished() {
    Plan plan = finished_plan(space_, *best_, auto_planner);
    predict_by_simulation(simulator_, plan);
    plan.schedules = std::move(schedules_);
    return plan;
  }

  const SearchSpace& space_;
  PlanSimulator own_simulator_;
  PlanSimulator& simulator_;  // of the whole memory
  std::optional<Plan> best_;
  double seconds_ = 0.0;
  std::vector<TriedPlan> leaders_;  // that are improved
  std::size_t num_varied_ = 0;      // of them are there beside one with another ZeRO stage
  LeaderRace race_;
  std::vector<ScheduleAlternative> schedules_;  // beside the best one's
  bool complete_ = true;
  std::int64_t num_examined_ = 0;
};

}  // namespace

Outcome choose_by_simulation(const SearchSpace& space, Outcome outcome) {
  space.tell_asks("simulating the best plans");
  space.tell_judges_anew();  // plans were judged by closed forms before
  return SimulatedSearch(space).run(std::move(outcome));
}

}  // namespace pptrain
