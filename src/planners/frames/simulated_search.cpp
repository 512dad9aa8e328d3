#include "planners/frames/simulated_search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "planners/frames/frame_search.hpp"
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
        simulator_(space.check != nullptr ? space.check->simulator() : own_simulator_) {}

  Outcome run(Outcome outcome) {
    std::vector<Plan> candidates = candidates_of(outcome);
    if (space_.restrictions.expert) return run_with_sent_rows(std::move(outcome), std::move(candidates));
    if (!candidates.empty()) {
      consider(candidates);
      if (replace_refused(outcome)) consider(candidates = candidates_of(outcome));
      if (!best_) offer(candidates.front(), infinity);
      budget_ = budget();
      for (std::size_t g = 0; g < std::min(num_grids, outcome.grids.size()); ++g) {
        if (outcome.grids[g].plan && attempt(*outcome.grids[g].plan)) candidates.insert(candidates.begin(), *best_);
      }
      candidates.resize(std::min(candidates.size(), num_leaders));
    }
    add_frames(outcome, candidates);
    if (!best_) return outcome;
    budget_ = budget();
    return improved(std::move(outcome), candidates);
  }

 private:
  /// Puts the fastest plans of the frames in front of the candidates.
  void add_frames(Outcome& outcome, std::vector<Plan>& candidates) {
    if (!space_.restrictions.annotations.empty() || !space_.restrictions.blocks) return;
    space_.tell_asks("searching frames");
    FoundFrames frames = search_frames(space_, best_ ? seconds_ : infinity);
    num_examined_ += frames.num_simulated;
    complete_ = complete_ && frames.complete;
    const Restrictions& fixed = space_.restrictions;
    const bool free = !fixed.recompute || !fixed.zero_stage;  // then what the papers' planners advise was tried
    if (!best_ && frames.plans.empty()) outcome.complete = frames.complete;  // then nothing fits, whoever was not done
    if (!best_ && free && !frames.why_not.empty()) outcome.why_not = frames.why_not + offload_remedy(space_);
    if (frames.plans.size() > num_leaders) frames.plans.resize(num_leaders);
    for (auto found = frames.plans.rbegin(); found != frames.plans.rend(); ++found) {
      if (simulator_.of(found->plan).why_not.empty()) offer(found->plan, found->seconds);
      candidates.insert(candidates.begin(), std::move(found->plan));
    }
  }

  static constexpr double most_candidates_work = 2e6;
  static constexpr std::size_t num_grids = 4;    // simulated beside the planners' plans
  static constexpr std::size_t num_leaders = 3;  // that are given every schedule

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
      outcome.why_not = fmt::format("none with experts that {} replicas divide fits", *space_.restrictions.expert);
      return outcome;
    }
    budget_ = budget();
    candidates.resize(std::min(candidates.size(), num_leaders));
    return improved(std::move(outcome), candidates);
  }

  [[noreturn]] void refuse_expert() const {
    const Restrictions& fixed = space_.restrictions;
    throw_bad_input({fixed.place_of("expert", ""),
                     fmt::format("expert = {} on {} devices", *fixed.expert, space_.instance.cluster.num_devices()),
                     fmt::format("no plan is known whose experts {} replicas divide", *fixed.expert),
                     "use a number that divides the replicas of each stage, which have a device each (tensor = 1), or "
                     "\"auto\""});
  }

  /// Tries what is near the leaders, and what is near the best, until nothing is better.
  Outcome improved(Outcome outcome, const std::vector<Plan>& leaders) {
    for (const Plan& leader : leaders) {
      for (Plan& other : other_schedules(space_, leader)) attempt(std::move(other));
      attempt_all(sent_rows(space_, leader));
    }
    while (improve()) {
    }
    for (Beside& beside : outcome.beside) {
      if (beside.plan && known(*beside.plan)) predict_by_simulation(simulator_, *beside.plan);
      if (beside.plan) predict_by_larger_form(*beside.plan);
    }
    outcome.plan = finished();
    outcome.num_examined += num_examined_;
    outcome.complete = outcome.complete && complete_;
    return outcome;
  }

  /// Goes on with the searches of other planners whose plans do not fit; whether there were any.
  bool replace_refused(Outcome& outcome) {
    bool any = false;
    for (Beside& beside : outcome.beside) {
      if (space_.check != nullptr || !beside.plan || !known(*beside.plan) || fits(*beside.plan)) continue;
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

  /// Different plans, those that the larger form holds fastest first.
  static std::vector<Plan> candidates_of(const Outcome& outcome) {
    std::vector<Plan> plans;
    const auto add = [&plans](const std::optional<Plan>& plan) {
      const auto same = [&](const Plan& other) { return same_plan(*plan, other); };
      if (plan && std::none_of(plans.begin(), plans.end(), same)) predict_by_larger_form(plans.emplace_back(*plan));
    };
    add(outcome.plan);
    for (const Beside& beside : outcome.beside) add(beside.plan);
    std::stable_sort(plans.begin(), plans.end(),
                     [](const Plan& a, const Plan& b) { return predicted_seconds(a) < predicted_seconds(b); });
    return plans;
  }

  static double predicted_seconds(const Plan& plan) { return plan.predicted ? plan.predicted->iteration_seconds : 0.0; }

  /// Work of the search around the candidates: milliseconds on 16 devices, seconds on thousands; more where chunks,
  /// recomputation or ZeRO stages are free, which multiplies the steps.
  double budget() {
    constexpr double least = 1e4;
    constexpr double per_device = 400.0;
    constexpr double in_best_plans = 8.0;
    constexpr double most = 1e7;
    constexpr double with_free_modes = 8.0;
    const Restrictions& fixed = space_.restrictions;
    const bool free = !fixed.virtual_stages || !fixed.recompute || !fixed.zero_stage;
    const double by_devices =
        (free ? with_free_modes : 1.0) * (least + per_device * space_.instance.cluster.num_devices());
    return std::min(most, std::max(by_devices, in_best_plans * simulator_.tasks(*best_)));
  }

  bool known(const Plan& plan) const { return simulator_.is_known(plan); }

  /// Simulates the candidates, at least one. Those that are too large count by their larger form; those that come too
  /// late, or beyond the work that candidates may cost together, only where no other was simulated. Those that do not
  /// fit in the simulator, which also counts what is held for a moment, are left out.
  void consider(std::vector<Plan>& candidates) {
    double work = 0.0;
    bool any_simulated = false;
    for (Plan& plan : candidates) {
      work += simulator_.cost(plan);
      const bool late = best_ && (space_.stop.requested() || work > most_candidates_work);
      if (late) complete_ = false;
      if (!late) predict_by_simulation(simulator_, plan);
      if (fits(plan) && (!late || !any_simulated)) offer(plan, predicted_seconds(plan));
      any_simulated = any_simulated || known(plan);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Plan& a, const Plan& b) { return predicted_seconds(a) < predicted_seconds(b); });
  }

  bool fits(const Plan& plan) { return !known(plan) || simulator_.of(plan).why_not.empty(); }

  bool offer(const Plan& plan, double seconds) {
    if (best_ && seconds >= seconds_ * (1.0 - tie_tolerance)) return false;
    best_ = plan;
    seconds_ = seconds;
    space_.tell_found(seconds);
    return true;
  }

  /// The slowest stage's own work: no schedule gets below it.
  double least_seconds(const Plan& plan) const {
    const AmpTerms terms = amp_terms(space_.instance, plan);
    constexpr double rounding = 1.0 - 1e-9;
    return rounding * static_cast<double>(plan.micro_batches) *
           *std::max_element(terms.stage_seconds.begin(), terms.stage_seconds.end());
  }

  /// Whether the same plan in the order of another schedule fits, beside which this one is no faster, as ZB-H1 beside
  /// ZB-H2.
  bool needless(const Plan& plan) {
    const std::string& roomier = schedule_kind(plan.schedule.name).roomier;
    if (roomier.empty()) return false;
    Plan other = plan;
    other.schedule.name = roomier;
    return known(other) && simulator_.of(other).why_not.empty();
  }

  /// Takes the plan if it is faster and fits. Nothing is done that exceeds the work or cannot be faster.
  bool attempt(Plan plan) {
    if (known(plan)) return false;
    if (space_.stop.requested()) {
      complete_ = false;
      return false;
    }
    if (needless(plan) || least_seconds(plan) >= seconds_) return false;
    if (simulator_.setup_cost(plan) > budget_) return false;
    const double cost = simulator_.cost(plan);
    if (cost > budget_ || !simulator_.can(plan)) return false;
    budget_ -= cost;
    ++num_examined_;
    space_.tell_examined(1);
    const SimulatedPlan& result = simulator_.of(plan);
    return result.why_not.empty() && offer(plan, result.iteration_seconds);
  }

  bool attempt_all(std::vector<Plan> plans) {
    bool any = false;
    for (Plan& plan : plans) any |= attempt(std::move(plan));
    return any;
  }

  /// One round of all kinds of steps; whether any was taken.
  bool improve() {
    bool any = attempt_all(other_schedules(space_, *best_));
    any |= attempt_all(other_micro_batches(space_, *best_));
    any |= attempt_all(other_modes(space_, *best_));
    any |= attempt_all(shifted_layers(space_, *best_));
    any |= attempt_all(sent_rows(space_, *best_));
    any |= attempt_all(shifted_experts(space_, *best_));
    return any;
  }

  Plan finished() {
    Plan plan = finished_plan(space_, *best_, "auto");
    predict_by_simulation(simulator_, plan);
    for (const Plan& other : other_schedules(space_, plan)) {
      if (!known(other)) continue;
      const SimulatedPlan& result = simulator_.of(other);
      ScheduleAlternative& alternative = plan.schedules.emplace_back();
      alternative.schedule = other.schedule;
      alternative.why_not = result.why_not;
      if (result.why_not.empty()) alternative.iteration_seconds = result.iteration_seconds;
    }
    return plan;
  }

  const SearchSpace& space_;
  PlanSimulator own_simulator_;
  PlanSimulator& simulator_;  // of the whole memory
  std::optional<Plan> best_;
  double seconds_ = 0.0;
  double budget_ = 0.0;
  bool complete_ = true;
  std::int64_t num_examined_ = 0;
};

}  // namespace

Outcome choose_by_simulation(const SearchSpace& space, Outcome outcome) {
  space.tell_asks("simulating the best plans");
  return SimulatedSearch(space).run(std::move(outcome));
}

}  // namespace pptrain
