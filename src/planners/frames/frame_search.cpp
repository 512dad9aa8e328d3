#include "planners/frames/frame_search.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <queue>

#include "base/parallel_for.hpp"
#include "plan/validate.hpp"
#include "plan/zero_groups.hpp"
#include "planners/frames/division_cost.hpp"
#include "planners/frames/frame_costs.hpp"
#include "planners/frames/site.hpp"
#include "planners/simulated/neighbours.hpp"
#include "planners/simulated/simulated_plan.hpp"

namespace pptrain {
namespace {

/// A frame without its schedule.
struct Base {
  const FrameCosts* costs = nullptr;
  FrameModes modes;
};

/// What waits in the queue.
struct Waiting {
  double bound = 0.0;
  std::int64_t number = 0;  ///< of equal bounds the one that came first goes first
  int base = 0;
  ScheduleChoice schedule;
  std::vector<Interval> chunks;       ///< none: all schedules of the base
  std::vector<Recompute> recompute;   ///< of each stage
  bool operator>(const Waiting& other) const {
    return bound != other.bound ? bound > other.bound : number > other.number;
  }
};

/// A plan that was simulated.
struct Tried {
  Plan plan;
  double seconds = 0.0;
  std::string why_not;
};

class FrameSearch {
 public:
  FrameSearch(const SearchSpace& space, double limit)
      : space_(space), tables_(space.instance), best_(limit), threads_(usable_cores()) {
    for (int t = 0; t < threads_; ++t) simulators_.push_back(std::make_unique<PlanSimulator>(space.instance));
  }

  FoundFrames run() {
    for (const Site& site : sites_of(space_.instance)) add_site(site);
    search();
    polish();
    for (Tried& tried : tried_) {
      if (tried.seconds <= worth_returning * best_) found_.plans.push_back({std::move(tried.plan), tried.seconds});
    }
    return std::move(found_);
  }

 private:
  static constexpr int batch = 8;  // plans simulated before the best is looked at again
  static constexpr std::size_t most_polished = 16;
  static constexpr double worth_polishing = 1.02;
  static constexpr double worth_returning = 1.03;

  void add_site(const Site& site) {
    for (const Grid& grid : frame_grids(space_, static_cast<int>(site.devices.size()))) {
      PlacedGrid& placed = grids_.emplace_back(space_.instance, site, grid, space_.restrictions.zero_group);
      if (!placed.possible()) {
        grids_.pop_back();
        continue;
      }
      const bool uneven = placed.mixes_replicas() || space_.restrictions.uneven_shares;
      for (const std::int64_t micro_batch : frame_micro_batches(space_, grid, uneven)) {
        const FrameCosts& costs = costs_.emplace_back(space_.instance, tables_, placed, micro_batch);
        for (const FrameModes& modes : frame_modes(space_.restrictions, grid.data)) {
          const double bound = costs.least_seconds(modes);
          if (bound >= best_) continue;
          bases_.push_back({&costs, modes});
          push({bound, 0, static_cast<int>(bases_.size()) - 1, {}, {}, {}});
        }
      }
    }
  }

  void push(Waiting waiting) {
    waiting.number = next_number_++;
    queue_.push(std::move(waiting));
  }

  bool front_may_win() const { return !queue_.empty() && queue_.top().bound < best_; }

  void search() {
    while (front_may_win()) {
      if (space_.stop.requested()) {
        found_.complete = false;
        found_.bound = queue_.top().bound;
        return;
      }
      std::vector<Plan> plans;
      while (front_may_win() && std::ssize(plans) < batch) {
        Waiting front = queue_.top();
        queue_.pop();
        if (front.chunks.empty()) {
          expand(front);
        } else {
          plans.push_back(plan_of(front));
        }
      }
      for (Tried& tried : simulated(plans)) take(std::move(tried));
    }
    found_.bound = best_;
  }

  /// A waiting entry for each schedule of a base.
  void expand(const Waiting& front) {
    const Base& base = bases_[static_cast<std::size_t>(front.base)];
    const int stages = base.costs->placed().grid().pipeline;
    for (const ScheduleChoice& schedule : frame_schedules(space_, stages)) {
      if (stages * schedule.virtual_stages > space_.instance.profile.num_layers()) continue;
      DivisionCost cost(*base.costs, schedule, base.modes);
      std::vector<Interval> chunks = divided_layers(cost);
      const DivisionCost::Cost least = cost.of(chunks);
      if (least.overrun > 0.0 || least.seconds >= best_) continue;
      std::vector<Recompute> recompute;
      for (int s = 0; s < stages; ++s) recompute.push_back(cost.recompute_of(s));
      if (base.modes.recompute == RecomputeRule::needed && all_none(recompute)) continue;  // as without the rule
      push({std::max(front.bound, least.seconds), 0, front.base, schedule, std::move(chunks), std::move(recompute)});
    }
  }

  static bool all_none(const std::vector<Recompute>& recompute) {
    return std::all_of(recompute.begin(), recompute.end(), [](Recompute r) { return r == Recompute::none; });
  }

  Plan plan_of(const Waiting& waiting) {
    const Base& base = bases_[static_cast<std::size_t>(waiting.base)];
    const PlacedGrid& placed = base.costs->placed();
    const Grid& grid = placed.grid();
    Plan plan;
    plan.global_batch_size = space_.instance.global_batch_size;
    plan.micro_batch_size = base.costs->micro_batch();
    plan.micro_batches = base.costs->micro_batches();
    plan.schedule = waiting.schedule;
    for (int s = 0; s < grid.pipeline; ++s) {
      Stage& stage = plan.stages.emplace_back();
      stage.replicas = grid.data;
      stage.tensor_parallel = grid.tensor;
      stage.devices = placed.meshes()[static_cast<std::size_t>(s)];
      stage.samples = placed.samples(tables_.sums(), s, plan.micro_batch_size);
      stage.recompute = waiting.recompute[static_cast<std::size_t>(s)];
      divide_state(stage, base.modes.zero_stage, base.modes.zero_group, space_.instance.cluster);
    }
    for (int c = 0; c < static_cast<int>(waiting.chunks.size()); ++c) {
      const int stage = stage_of_chunk(waiting.schedule.name, grid.pipeline, c);
      plan.stages[static_cast<std::size_t>(stage)].layers.push_back(waiting.chunks[static_cast<std::size_t>(c)]);
    }
    return plan;
  }

  std::vector<Tried> simulated(const std::vector<Plan>& plans) {
    std::vector<Tried> results(plans.size());
    parallel_for(static_cast<int>(plans.size()), threads_, [&](int thread, int i) {
      results[static_cast<std::size_t>(i)] =
          simulated(*simulators_[static_cast<std::size_t>(thread)], plans[static_cast<std::size_t>(i)]);
    });
    found_.num_simulated += std::ssize(plans);
    space_.tell_examined(std::ssize(plans));
    return results;
  }

  static Tried simulated(PlanSimulator& simulator, const Plan& plan) {
    if (!simulator.can(plan)) return {plan, 0.0, "too large to simulate"};
    const SimulatedPlan& result = simulator.of(plan);
    return {plan, result.iteration_seconds, result.why_not};
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

  /// Improves the leading plans by single layers over cuts, each for itself.
  void polish() {
    std::vector<Tried> leaders;
    for (const Tried& tried : tried_) {
      if (leaders.size() < most_polished && tried.seconds <= worth_polishing * best_) leaders.push_back(tried);
    }
    std::vector<std::int64_t> counts(leaders.size(), 0);
    parallel_for(static_cast<int>(leaders.size()), threads_, [&](int thread, int i) {
      counts[static_cast<std::size_t>(i)] =
          polish(*simulators_[static_cast<std::size_t>(thread)], leaders[static_cast<std::size_t>(i)]);
    });
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      found_.num_simulated += counts[i];
      take(std::move(leaders[i]));
    }
  }

  std::int64_t polish(PlanSimulator& simulator, Tried& leader) {
    std::int64_t count = 0;
    for (bool any = true; any;) {
      any = false;
      for (const Plan& other : shifted_layers(space_, leader.plan)) {
        if (space_.stop.requested()) return count;
        Tried tried = simulated(simulator, other);
        ++count;
        if (!tried.why_not.empty() || tried.seconds >= leader.seconds * (1.0 - 1e-6)) continue;
        leader = std::move(tried);
        any = true;
        break;
      }
    }
    return count;
  }

  const SearchSpace& space_;
  FrameTables tables_;
  std::deque<PlacedGrid> grids_;
  std::deque<FrameCosts> costs_;
  std::vector<Base> bases_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue_;
  std::int64_t next_number_ = 0;
  std::vector<Tried> tried_;  // those that fit, fastest first
  double best_;
  int threads_;
  std::vector<std::unique_ptr<PlanSimulator>> simulators_;
  FoundFrames found_;
};

}  // namespace

FoundFrames search_frames(const SearchSpace& space, double limit) { return FrameSearch(space, limit).run(); }

}  // namespace pptrain
