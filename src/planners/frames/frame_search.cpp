#include "planners/frames/frame_search.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <queue>
#include <set>

#include "base/infinity.hpp"
#include "base/parallel_for.hpp"
#include "planners/describe/least_overrun.hpp"
#include "planners/frames/device_speeds.hpp"
#include "planners/frames/frame_divider.hpp"
#include "planners/simulated/neighbours.hpp"
#include "planners/simulated/simulated_plan.hpp"

namespace pptrain {
namespace {

/// What waits in the queue: a shape, a shape with a micro-batch size, or a frame with its layers divided.
struct Waiting {
  enum class Rung { shape, costs, division };
  double bound = 0.0;
  double estimate = 0.0;    ///< the bound, or what like frames came to
  std::int64_t number = 0;  ///< of equal estimates the one that came first goes first
  Rung rung = Rung::shape;
  int index = 0;  ///< of the shape, or of the costs
  FrameDivision division = {};
  bool operator>(const Waiting& other) const {
    return estimate != other.estimate ? estimate > other.estimate : number > other.number;
  }
};

/// Frames of one shape and micro-batch size. Links are what a bound knows least of, and much the same for all of them:
/// the first one that is simulated, and the first one of each number of chunks, tell how much more than their bounds the
/// others may take.
struct Siblings {
  std::vector<Waiting> held;  ///< until the first one is simulated
  std::optional<double> more;  ///< seconds
};

/// How much of what the bound of a frame's first sibling lacked its own bound lacks, as a rule: zero-bubble orders hide
/// more of it, and units of ZeroPP wait for each other.
double share_of(const ScheduleChoice& schedule) {
  const bool one_chunk = schedule.virtual_stages == 1;
  if (schedule.name == "zeropp") return 1.5;
  if (schedule.name == "zb-h2" || schedule.name == "auto") return one_chunk ? 0.2 : 0.8;
  return schedule.name == "zb-h1" ? 0.6 : 0.8;
}

/// A plan that was simulated.
struct Tried {
  Plan plan;
  double seconds = 0.0;
  std::string why_not;
  double work = 0.0;
  std::vector<double> peak_bytes = {};  ///< by device, where the plan does not fit
};

/// A shape that waits for its placement.
struct WaitingShape {
  int site = 0;
  Shape shape;
};

double effort_factor(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return 0.1;
    case Effort::normal:
      return 1.0;
    case Effort::thorough:
      return 20.0;
  }
  return 1.0;
}

class FrameSearch {
 public:
  FrameSearch(const SearchSpace& space, double limit, int threads)
      : space_(space),
        tables_(space.instance),
        sites_(sites_of(space.instance)),
        best_(limit),
        most_work_(most_work()),
        threads_(threads) {
    for (int t = 0; t < threads_; ++t) simulators_.push_back(std::make_unique<PlanSimulator>(space.instance));
  }

  FoundFrames run() {
    add_shapes();
    search();
    polish();
    if (tried_.empty()) found_.why_not = why_nothing_fits();
    for (Tried& tried : tried_) {
      if (tried.seconds <= worth_returning * best_) found_.plans.push_back({std::move(tried.plan), tried.seconds});
    }
    return std::move(found_);
  }

 private:
  using Rung = Waiting::Rung;
  static constexpr int batch = 16;  // entries taken before the best is looked at again
  static constexpr std::size_t most_polished = 16;
  static constexpr double worth_polishing = 1.08;
  static constexpr int most_polishing = 200;  // simulations of one leader
  static constexpr int most_cuts = 8;
  static constexpr double worth_returning = 1.03;

  void add_shapes() {
    const DeviceSpeeds speeds(space_.instance);
    for (int s = 0; s < static_cast<int>(sites_.size()); ++s) {
      const Site& site = sites_[static_cast<std::size_t>(s)];
      for (Shape& shape : shapes_of(space_, site)) {
        const double bound = speeds.least_seconds(site, shape);
        if (bound >= best_) continue;
        shapes_.push_back({s, std::move(shape)});
        push({bound, bound, 0, Rung::shape, static_cast<int>(shapes_.size()) - 1});
      }
    }
  }

  void push(Waiting waiting) {
    if (waiting.bound >= best_) return drop(waiting);
    waiting.number = next_number_++;
    queue_.push(std::move(waiting));
  }

  /// Leaves out a frame whose bound is above the best plan. Its siblings, whose bounds may be below, no longer wait.
  void drop(const Waiting& waiting) {
    constexpr double guess = 0.1;  // of a bound, for what it lacks
    if (waiting.rung == Rung::division) tell_siblings(waiting, guess * waiting.bound);
  }

  /// The first of its siblings goes to the queue, the others wait for what it comes to.
  void push_division(Waiting waiting) {
    for (const int chunks : {0, waiting.division.schedule.virtual_stages}) {
      const auto [entry, is_first] = siblings_.try_emplace({waiting.index, chunks});
      Siblings& siblings = entry->second;
      if (siblings.more) {
        waiting.estimate = waiting.bound + share_of(waiting.division.schedule) * *siblings.more;
      } else if (!is_first) {
        siblings.held.push_back(std::move(waiting));
        return;
      }
    }
    push(std::move(waiting));
  }

  /// Lets the siblings of a frame that was simulated go.
  void tell_siblings(const Waiting& first, double more) {
    for (const int chunks : {0, first.division.schedule.virtual_stages}) {
      Siblings& siblings = siblings_.at({first.index, chunks});
      if (siblings.more) continue;
      siblings.more = more;
      for (Waiting& waiting : std::exchange(siblings.held, {})) push_division(std::move(waiting));
    }
  }

  /// Drops what cannot be better than the best plan; whether anything is left.
  bool any_may_win() {
    while (!queue_.empty() && queue_.top().bound >= best_) {
      const Waiting front = queue_.top();
      queue_.pop();
      drop(front);
    }
    return !queue_.empty();
  }

  void search() {
    while (any_may_win()) {
      if (space_.stop.requested() || work_ > most_work_) {
        found_.complete = false;
        found_.bound = least_bound();
        return;
      }
      std::vector<Waiting> costs;
      std::vector<Waiting> divisions;
      while (any_may_win() && std::ssize(costs) + std::ssize(divisions) < batch) {
        Waiting front = queue_.top();
        queue_.pop();
        if (front.rung == Rung::shape) {
          add_micro_batches(front);
        } else {
          (front.rung == Rung::costs ? costs : divisions).push_back(std::move(front));
        }
      }
      divide(costs);
      simulate(divisions);
    }
    found_.bound = best_;
  }

  double least_bound() {
    double least = best_;
    for (; !queue_.empty(); queue_.pop()) least = std::min(least, queue_.top().bound);
    for (const auto& [key, siblings] : siblings_) {
      for (const Waiting& waiting : siblings.held) least = std::min(least, waiting.bound);
    }
    return least;
  }

  void add_micro_batches(const Waiting& front) {
    const WaitingShape& waiting = shapes_[static_cast<std::size_t>(front.index)];
    std::vector<Mesh> meshes = meshes_of(sites_[static_cast<std::size_t>(waiting.site)], waiting.shape);
    if (!has_rows(space_.instance, meshes)) return;
    const PlacedShape& placed =
        placed_.emplace_back(space_.instance, std::move(meshes), space_.restrictions.zero_group);
    const bool recomputes = recompute_rules(space_.restrictions).front() == RecomputeRule::full;
    for (const std::int64_t size : frame_micro_batches(space_, placed.most_data())) {
      const FrameCosts& costs = costs_.emplace_back(space_.instance, tables_, placed, size);
      const double bound = std::max(front.bound, costs.least_seconds(recomputes));
      push({bound, bound, 0, Rung::costs, static_cast<int>(costs_.size()) - 1});
    }
  }

  void divide(const std::vector<Waiting>& costs) {
    std::vector<FrameDivider> dividers;
    for (const Waiting& one : costs) {
      dividers.emplace_back(space_, costs_of(one), best_);
    }
    std::vector<std::vector<FrameDivision>> made(costs.size());
    parallel_for(static_cast<int>(costs.size()), threads_, [&](int, int i) {
      made[static_cast<std::size_t>(i)] = dividers[static_cast<std::size_t>(i)].all();
    });
    for (std::size_t i = 0; i < made.size(); ++i) {
      add_divisions(costs[i].index, std::move(made[i]));
      if (!dividers[i].nearest() || dividers[i].least_overrun() >= least_overrun_) continue;
      least_overrun_ = dividers[i].least_overrun();
      nearest_ = plan_of(space_, costs_of(costs[i]), *dividers[i].nearest());
    }
  }

  void simulate(const std::vector<Waiting>& divisions) {
    std::vector<Plan> plans;
    for (const Waiting& one : divisions) plans.push_back(plan_of(space_, costs_of(one), one.division));
    std::vector<Tried> results(divisions.size());
    parallel_for(static_cast<int>(divisions.size()), threads_, [&](int thread, int i) {
      results[static_cast<std::size_t>(i)] = simulated(*simulators_[static_cast<std::size_t>(thread)],
                                                       plans[static_cast<std::size_t>(i)]);
    });
    found_.num_simulated += std::ssize(divisions);
    space_.tell_examined(std::ssize(divisions));
    for (std::size_t i = 0; i < divisions.size(); ++i) {
      work_ += results[i].work;
      if (getenv("FRAMES_DEBUG2")) fprintf(stderr, "%6ld bound %.4f est %.4f sim %.4f %s|%s V%d u%d m%ld rule%zu zero%zu %s work %.0f idx %d\n", long(found_.num_simulated), divisions[i].bound, divisions[i].estimate, results[i].seconds, results[i].plan.shape().c_str(), divisions[i].division.schedule.name.c_str(), divisions[i].division.schedule.virtual_stages, divisions[i].division.schedule.unit, long(results[i].plan.micro_batches), divisions[i].division.rule, divisions[i].division.zero, results[i].why_not.empty() ? "" : "OOM", results[i].work, divisions[i].index);
      const double more = results[i].why_not.empty() ? results[i].seconds - divisions[i].bound : 0.0;
      tell_siblings(divisions[i], std::max(0.0, more));
      if (!results[i].why_not.empty()) {
        nearest_simulated_.take(space_.instance, results[i].plan, results[i].peak_bytes);
        escalate(divisions[i]);
      }
      lead(divisions[i].index, results[i]);
      take(std::move(results[i]));
    }
  }

  /// Keeps the best plan of each shape and micro-batch size.
  void lead(int index, const Tried& tried) {
    if (!tried.why_not.empty() || tried.seconds > worth_polishing * best_) return;
    const auto [entry, is_first] = leaders_.try_emplace(index, tried);
    if (!is_first && tried.seconds < entry->second.seconds) entry->second = tried;
  }

  /// Which plan comes nearest to fitting, by the simulator where it was asked.
  std::string why_nothing_fits() {
    if (nearest_simulated_.text().empty() && nearest_) nearest_simulated_.take(space_.instance, *nearest_);
    return nearest_simulated_.text();
  }

  /// What saves more memory than a frame that does not fit in the simulator.
  void escalate(const Waiting& refused) {
    const FrameDivision& division = refused.division;
    const ScheduleChoice& schedule = division.schedule;
    const auto key = std::tuple(refused.index, schedule.name, schedule.virtual_stages, schedule.unit, division.rule,
                                division.zero);
    if (!refused_.insert(key).second) return;
    add_divisions(refused.index, FrameDivider(space_, costs_of(refused), best_).after(division));
  }

  const FrameCosts& costs_of(const Waiting& waiting) const { return costs_[static_cast<std::size_t>(waiting.index)]; }

  void add_divisions(int index, std::vector<FrameDivision> divisions) {
    for (FrameDivision& division : divisions) {
      const double bound = division.bound;
      push_division({bound, bound, 0, Rung::division, index, std::move(division)});
    }
  }

  static Tried simulated(PlanSimulator& simulator, const Plan& plan) {
    if (!simulator.can(plan)) return {plan, infinity, "", 0.0};
    const double work = simulator.cost(plan);
    const SimulatedPlan& result = simulator.of(plan);
    if (result.why_not.empty()) return {plan, result.iteration_seconds, "", work};
    return {plan, result.iteration_seconds, result.why_not, work, result.peak_bytes};
  }

  void take(Tried tried) {
    if (!tried.why_not.empty()) return;
    if (tried.seconds < best_ * (1.0 - tie_tolerance)) {
      best_ = tried.seconds;
      space_.tell_found(best_);
    }
    if (tried.seconds > worth_returning * best_) return;
    const auto place = std::upper_bound(tried_.begin(), tried_.end(), tried,
                                        [](const Tried& a, const Tried& b) { return a.seconds < b.seconds; });
    tried_.insert(place, std::move(tried));
  }

  /// Improves the leading plans by single layers over cuts, the best of each shape and micro-batch size for itself.
  void polish() {
    std::vector<Tried> leaders;
    for (auto& [index, tried] : leaders_) {
      if (tried.seconds <= worth_polishing * best_) leaders.push_back(std::move(tried));
    }
    std::stable_sort(leaders.begin(), leaders.end(),
                     [](const Tried& a, const Tried& b) { return a.seconds < b.seconds; });
    if (leaders.size() > most_polished) leaders.resize(most_polished);
    std::vector<std::int64_t> counts(leaders.size(), 0);
    parallel_for(static_cast<int>(leaders.size()), threads_, [&](int thread, int i) {
      counts[static_cast<std::size_t>(i)] =
          polish(*simulators_[static_cast<std::size_t>(thread)], leaders[static_cast<std::size_t>(i)]);
    });
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      if (getenv("FRAMES_DEBUG2")) fprintf(stderr, "polished %s %s V%d m%ld: %.4f after %ld\n", leaders[i].plan.shape().c_str(), leaders[i].plan.schedule.name.c_str(), leaders[i].plan.schedule.virtual_stages, long(leaders[i].plan.micro_batches), leaders[i].seconds, long(counts[i]));
      found_.num_simulated += counts[i];
      take(std::move(leaders[i]));
    }
  }

  std::int64_t polish(PlanSimulator& simulator, Tried& leader) const {
    constexpr double worth_it = 1.0 - 1e-6;
    std::int64_t count = 0;
    for (bool any = true; any;) {
      any = false;
      for (const Plan& other : shifted_layers(space_, leader.plan, most_cuts)) {
        if (space_.stop.requested() || count == most_polishing) return count;
        Tried tried = simulated(simulator, other);
        ++count;
        if (!tried.why_not.empty() || tried.seconds >= leader.seconds * worth_it) continue;
        leader = std::move(tried);
        any = true;
        break;
      }
    }
    return count;
  }

  /// Simulated tasks, with what orders cost, until the search ends with the best plan so far.
  double most_work() const {
    constexpr double least = 2e5;
    constexpr double per_device = 5e4;
    constexpr double most = 1e7;
    return effort_factor(space_.restrictions.effort) *
           std::min(most, least + per_device * space_.instance.cluster.num_devices());
  }

  const SearchSpace& space_;
  FrameTables tables_;
  std::vector<Site> sites_;
  std::vector<WaitingShape> shapes_;
  std::deque<PlacedShape> placed_;
  std::deque<FrameCosts> costs_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue_;
  std::map<std::pair<int, int>, Siblings> siblings_;  // by costs and chunks per stage, 0: of all numbers
  std::set<std::tuple<int, std::string, int, int, std::size_t, std::size_t>> refused_;
  std::int64_t next_number_ = 0;
  std::vector<Tried> tried_;  // those that fit, fastest first
  std::map<int, Tried> leaders_;  // by costs
  std::optional<Plan> nearest_;  // to fitting, by the closed form
  double least_overrun_ = infinity;
  LeastOverrun nearest_simulated_;
  double best_;
  double work_ = 0.0;
  double most_work_;
  int threads_;
  std::vector<std::unique_ptr<PlanSimulator>> simulators_;
  FoundFrames found_;
};

}  // namespace

FoundFrames search_frames(const SearchSpace& space, double limit, int threads) {
  return FrameSearch(space, limit, threads > 0 ? threads : usable_cores()).run();
}

}  // namespace pptrain
