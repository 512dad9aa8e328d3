#include "planners/frames/frame_search.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <tuple>

#include "base/infinity.hpp"
#include "base/parallel_for.hpp"
#include "cost/state_slices.hpp"
#include "planners/divide/least_overrun.hpp"
#include "planners/frames/device_speeds.hpp"
#include "planners/frames/frame_leaders.hpp"
#include "planners/frames/frame_queue.hpp"
#include "planners/frames/frame_trials.hpp"

namespace pptrain {
namespace {

/// Simulated tasks, with what orders and divisions cost, until a search ends with the best plan so
/// far.
double most_work(const SearchSpace& space) {
  constexpr double of_small = 2e6;
  constexpr double of_others = 6e6;
  return effort_factor(space.restrictions.effort) *
         (is_small(space.instance) ? of_small : of_others);
}

class FrameSearch {
 public:
  FrameSearch(const SearchSpace& space, double limit, int threads,
              const std::shared_ptr<KnownOrders>& orders)
      : space_(space),
        tables_(space.instance),
        sites_(sites_of(space.instance)),
        slack_(is_small(space.instance) ? 1.3 : 1.0),
        queue_(slack_ * limit),
        trials_(space.instance, threads, OrderEffort::brief, orders),
        threads_(threads),
        best_(limit),
        most_work_(most_work(space)),
        leaders_(is_small(space.instance)) {}

  FoundFrames run() {
    add_shapes();
    search();
    if (!is_small(space_.instance)) try_other_zeros();  // small clusters looked at all of them
    if (leaders_.empty()) found_.why_not = why_nothing_fits();
    found_.num_varied = leaders_.num_varied();
    for (TriedPlan& tried : leaders_.take_plans()) {
      if (found_.plans.size() == most_returned) break;
      found_.plans.push_back({std::move(tried.plan), tried.seconds});
    }
    return std::move(found_);
  }

 private:
  using Rung = WaitingFrame::Rung;
  /// A shape that waits for its placement.
  struct WaitingShape {
    int site = 0;
    Shape shape;
  };
  static constexpr int batch = 16;               // frames taken before the best is looked at again
  static constexpr double most_dividing = 0.05;  // of all work, until a plan is simulated
  static constexpr std::size_t most_returned = 64;
  static constexpr std::size_t most_varied = 20;  // leaders that are tried with other ZeRO stages

  /// Puts the shapes into the queue: as many as can be placed in seconds, those with the least
  /// bounds of each tensor-parallel degree.
  void add_shapes() {
    constexpr std::size_t most_placed_devices = 1'000'000;
    constexpr std::size_t least_shapes = 64;
    const DeviceSpeeds speeds(space_.instance);
    std::map<int, std::vector<std::pair<double, WaitingShape>>> by_degree;
    for (int s = 0; s < static_cast<int>(sites_.size()); ++s) {
      const Site& site = sites_[static_cast<std::size_t>(s)];
      for (Shape& shape : shapes_of(space_, site)) {
        const double bound = speeds.least_seconds(site, shape);
        by_degree[shape.front().tensor].emplace_back(bound, WaitingShape{s, std::move(shape)});
      }
    }
    const auto devices = static_cast<std::size_t>(space_.instance.cluster.num_devices());
    const std::size_t most = std::max(least_shapes, most_placed_devices / devices) /
                             std::max<std::size_t>(1, by_degree.size());
    for (auto& [degree, shapes] : by_degree) {
      std::stable_sort(shapes.begin(), shapes.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      if (shapes.size() > most) {
        shapes.resize(most);
        found_.complete = false;
      }
      for (auto& [bound, shape] : shapes) {
        shapes_.push_back(std::move(shape));
        queue_.push({bound, bound, bound, 0, Rung::shape, static_cast<int>(shapes_.size()) - 1});
      }
    }
  }

  void search() {
    while (queue_.any_left()) {
      if (space_.stop.requested() || work_ > most_work_) {
        found_.complete = false;
        return;
      }
      std::vector<WaitingFrame> costs;
      std::vector<WaitingFrame> divisions = overdue_divisions();
      if (divisions.empty()) take_next(costs, divisions);
      divide(costs);
      simulate(std::move(divisions));
    }
  }

  /// The first divisions of the queue where much work has gone into dividing layers since a plan
  /// was simulated. Bounds of what is not divided yet are lower: of very many frames all would be
  /// divided before one is simulated.
  std::vector<WaitingFrame> overdue_divisions() {
    std::vector<WaitingFrame> divisions;
    if (work_of_dividing_ <= most_dividing * most_work_) return divisions;
    while (std::ssize(divisions) < batch && queue_.any_division_left())
      divisions.push_back(queue_.pop_division());
    return divisions;
  }

  /// Takes the next frames of the queue: those whose layers are to be divided, and divisions.
  void take_next(std::vector<WaitingFrame>& costs, std::vector<WaitingFrame>& divisions) {
    while (!space_.stop.requested() && queue_.any_left() &&
           std::ssize(costs) + std::ssize(divisions) < batch) {
      WaitingFrame front = queue_.pop();
      if (front.rung == Rung::shape) {
        add_micro_batches(front);
      } else {
        (front.rung == Rung::division ? divisions : costs).push_back(std::move(front));
      }
    }
  }

  void add_micro_batches(const WaitingFrame& front) {
    const WaitingShape& waiting = shapes_[static_cast<std::size_t>(front.index)];
    const std::vector<DeviceRows> meshes =
        meshes_of(sites_[static_cast<std::size_t>(waiting.site)], waiting.shape);
    if (!has_rows(space_.instance, meshes)) return;
    const ZeroGroup first = zero_groups(space_, meshes).front();
    const PlacedShape& placed = placed_.emplace_back(space_.instance, meshes, first);
    const FrameCosts* other = nullptr;
    const Shares shares = space_.restrictions.shares_evenly() ? Shares::even : Shares::balanced;
    for (const std::int64_t size : frame_micro_batches(space_, placed.most_data())) {
      const FrameCosts& costs =
          costs_.emplace_back(space_.instance, tables_, placed, size, other, shares);
      if (costs.shares_evenly()) other = &costs;
      push_costs(front.bound);
    }
  }

  /// Puts the costs that were added last into the queue.
  void push_costs(double least_bound) {
    const Recompute least = weakest(recompute_rules(space_).front());
    const double bound = std::max(least_bound, costs_.back().least_seconds(least));
    queue_.push({bound, bound, bound, 0, Rung::first, static_cast<int>(costs_.size()) - 1});
  }

  /// Adds the frames in which the replicas of each node divide the state among themselves, where
  /// those with all replicas came near the best plan.
  void add_node_groups(int index) {
    const PlacedShape& placed = costs_[static_cast<std::size_t>(index)].placed();
    const std::vector<ZeroGroup> groups = zero_groups(space_, placed.meshes());
    if (placed.zero_group() == groups.back() || leaders_.has_twin(index)) return;
    const std::int64_t size = costs_[static_cast<std::size_t>(index)].micro_batch();
    const PlacedShape& grouped =
        placed_.emplace_back(space_.instance, placed.meshes(), groups.back());
    costs_.emplace_back(space_.instance, tables_, grouped, size);
    const int twin = static_cast<int>(costs_.size()) - 1;
    leaders_.set_twins(index, twin);
    push_costs(0.0);
  }

  void divide(const std::vector<WaitingFrame>& costs) {
    std::vector<std::optional<FrameDivider>> dividers(costs.size());
    std::vector<std::vector<FrameDivision>> made(costs.size());
    parallel_for(static_cast<int>(costs.size()), threads_, [&](int, int one) {
      const auto i = static_cast<std::size_t>(one);
      FrameDivider& divider = dividers[i].emplace(space_, costs_of(costs[i]), slack_ * best_);
      made[i] = costs[i].rung == Rung::first ? divider.first() : divider.others();
    });
    for (std::size_t i = 0; i < made.size(); ++i) {
      const FrameDivider& divider = *dividers[i];
      const bool any = !made[i].empty();
      work_ += divider.work();
      work_of_dividing_ += divider.work();
      add_divisions(costs[i].index, std::move(made[i]));
      if (costs[i].rung == Rung::first)
        add_others(costs[i], any ? std::nullopt : std::optional(lacking(costs[i], divider)));
      if (!divider.nearest() || divider.least_overrun() >= least_overrun_) continue;
      least_overrun_ = divider.least_overrun();
      nearest_ = plan_of(space_, costs_of(costs[i]), *divider.nearest());
    }
  }

  /// Seconds by which the others of a shape and micro-batch size come later whose first schedule
  /// has no division: the more memory lacked, the less likely is one that fits.
  static double lacking(const WaitingFrame& first, const FrameDivider& divider) {
    constexpr double share = 2.0;  // half of which counts for the others
    const double overrun = divider.least_overrun();
    return overrun == infinity ? 0.0 : share * std::min(1.0, overrun) * first.bound;
  }

  /// Puts the other schedules of a shape and micro-batch size into the queue, to wait for what the
  /// first one comes to, or where that is known already: `more` seconds beyond what is likely.
  void add_others(const WaitingFrame& first, std::optional<double> more) {
    WaitingFrame others = first;
    others.rung = Rung::others;
    if (more) queue_.release(first, *more);
    queue_.push(std::move(others));
  }

  void simulate(std::vector<WaitingFrame> divisions) {
    std::vector<Plan> plans;
    std::erase_if(divisions, [&](const WaitingFrame& one) {
      const bool obeys = add_if_allowed(one, plans);
      if (!obeys) escalate(one);  // the order that is wanted may fit where more memory is saved
      return !obeys;
    });
    std::vector<TriedPlan> results = trials_.simulated(plans, best_);
    if (!plans.empty()) work_of_dividing_ = 0.0;
    found_.num_simulated += std::ssize(divisions);
    space_.tell_examined(std::ssize(divisions));
    for (std::size_t i = 0; i < divisions.size(); ++i) {
      TriedPlan& tried = results[i];
      work_ += tried.work;
      const bool fits = tried.why_not.empty();
      queue_.tell(divisions[i], tried.seconds < infinity
                                    ? std::max(0.0, tried.seconds - divisions[i].likely)
                                    : 0.0);
      if (!fits) {
        nearest_simulated_.take(space_.instance, tried.plan, tried.peak_bytes);
        if (divide_state_by_peaks(divisions[i], tried)) continue;
        recompute_full_stages(divisions[i], tried);
        escalate(divisions[i]);
        continue;
      }
      constexpr double near = 1.1;
      const bool is_near = is_small(space_.instance) || tried.seconds < near * best_;
      take(divisions[i], std::move(tried));
      if (is_near) add_node_groups(divisions[i].index);
    }
  }

  /// Divides the layers of the best leaders anew for every other ZeRO stage: the room of a stronger
  /// one may make an order shorter than the closed form knows, and a weaker one may do with fewer
  /// layers on a stage.
  void try_other_zeros() {
    std::vector<WaitingFrame> others;
    for (const FrameLeaders::Leader* leader : leaders_.best(most_varied)) {
      const WaitingFrame& frame = leader->frame;
      FrameDivider divider(space_, costs_of(frame), slack_ * best_);
      for (FrameDivision& other : divider.with_other_zeros(frame.division))
        others.push_back(waiting(frame.index, std::move(other)));
    }
    for (auto begin = others.begin(); begin != others.end() && !space_.stop.requested();) {
      const auto end = begin + std::min<std::ptrdiff_t>(batch, others.end() - begin);
      try_beside_leaders({std::make_move_iterator(begin), std::make_move_iterator(end)});
      begin = end;
    }
  }

  /// Simulates frames with other ZeRO stages than their leaders have.
  void try_beside_leaders(std::vector<WaitingFrame> frames) {
    std::vector<Plan> plans;
    std::erase_if(frames, [&](const WaitingFrame& frame) { return !add_if_allowed(frame, plans); });
    std::vector<TriedPlan> results = trials_.simulated(plans, best_);
    found_.num_simulated += std::ssize(frames);
    space_.tell_examined(std::ssize(frames));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (results[i].why_not.empty()) leaders_.add_if_faster(frames[i], std::move(results[i]));
    }
  }

  /// Adds the plan of a frame whose layers are divided where the rules allow it; whether they do.
  bool add_if_allowed(const WaitingFrame& frame, std::vector<Plan>& plans) const {
    Plan plan = plan_of(space_, costs_of(frame), frame.division);
    const bool obeys = obeys_rules(space_, plan);
    if (obeys) plans.push_back(std::move(plan));
    return obeys;
  }

  /// Adds the same division with slices of what ZeRO divides by the room that the simulator finds;
  /// whether there are such slices.
  bool divide_state_by_peaks(const WaitingFrame& refused, const TriedPlan& tried) {
    if (refused.division.by_peaks || space_.restrictions.shares_evenly()) return false;
    const Plan plan = with_slices_by_room(space_.instance, tried.plan, tried.peak_bytes);
    FrameDivision other = refused.division;
    other.by_peaks = true;
    for (int s = 0; s < plan.num_stages(); ++s)
      other.zero_slices[static_cast<std::size_t>(s)] =
          plan.stages[static_cast<std::size_t>(s)].zero_slices;
    if (other.zero_slices == refused.division.zero_slices) return false;
    add_divisions(refused.index, {std::move(other)});
    return true;
  }

  /// Adds the same division with F computed again on stages whose devices do not have room for what
  /// they store.
  void recompute_full_stages(const WaitingFrame& refused, const TriedPlan& tried) {
    if (space_.restrictions.recompute || space_.restrictions.shares_evenly()) return;
    FrameDivision more = refused.division;
    for (int s = 0; s < tried.plan.num_stages(); ++s) {
      const auto lacks = [&](DeviceId device) {
        return tried.peak_bytes[device.index()] > space_.instance.cluster.kind_of(device).memory;
      };
      const std::vector<std::vector<DeviceId>>& rows =
          tried.plan.stages[static_cast<std::size_t>(s)].devices;
      const bool full =
          std::any_of(rows.begin(), rows.end(), [&](const std::vector<DeviceId>& row) {
            return std::any_of(row.begin(), row.end(), lacks);
          });
      if (full) more.recompute[static_cast<std::size_t>(s)] = Recompute::full;
    }
    if (more.recompute != refused.division.recompute)
      add_divisions(refused.index, {std::move(more)});
  }

  /// Puts frames into the queue that save more memory than one that does not fit in the simulator.
  void escalate(const WaitingFrame& refused) {
    const FrameDivision& division = refused.division;
    const ScheduleChoice& schedule = division.schedule;
    const auto key = std::tuple(refused.index, schedule.name, schedule.virtual_stages,
                                schedule.unit, division.rule, division.zero);
    if (!refused_.insert(key).second) return;
    add_divisions(refused.index,
                  FrameDivider(space_, costs_of(refused), slack_ * best_).after(division));
  }

  const FrameCosts& costs_of(const WaitingFrame& waiting) const {
    return costs_[static_cast<std::size_t>(waiting.index)];
  }

  void add_divisions(int index, std::vector<FrameDivision> divisions) {
    for (FrameDivision& division : divisions) queue_.push(waiting(index, std::move(division)));
  }

  /// A division of the costs with this index as it goes to the queue.
  static WaitingFrame waiting(int index, FrameDivision division) {
    const double bound = division.bound;
    const double likely = std::max(bound, division.likely);
    return {bound, likely, likely, 0, Rung::division, index, std::move(division)};
  }

  /// Takes a plan that fits.
  void take(const WaitingFrame& frame, TriedPlan tried) {
    if (tried.seconds == infinity) return;
    if (tried.seconds < best_ * (1.0 - tie_tolerance)) {
      best_ = tried.seconds;
      queue_.set_limit(slack_ * best_);
      space_.tell_found(best_);
    }
    leaders_.take(frame, std::move(tried));
  }

  /// Names the plan that comes nearest to fitting, by the simulator where it was asked.
  std::string why_nothing_fits() {
    if (nearest_simulated_.text().empty() && nearest_)
      nearest_simulated_.take(space_.instance, *nearest_);
    return nearest_simulated_.text();
  }

  const SearchSpace& space_;
  FrameTables tables_;
  std::vector<Site> sites_;
  std::vector<WaitingShape> shapes_;
  std::deque<PlacedShape> placed_;
  std::deque<FrameCosts> costs_;
  double slack_;  // by which a bound may exceed the best plan: a step may improve what is divided a
                  // little wrong
  FrameQueue queue_;
  FrameTrials trials_;
  int threads_;
  double best_;
  double work_ = 0.0;
  double work_of_dividing_ = 0.0;  // since plans were simulated
  double most_work_;
  FrameLeaders leaders_;
  std::set<std::tuple<int, std::string, int, int, std::size_t, std::size_t>> refused_;
  std::optional<Plan> nearest_;  // to fitting, by the closed form
  double least_overrun_ = infinity;
  LeastOverrun nearest_simulated_;
  FoundFrames found_;
};

}  // namespace

double effort_factor(Effort effort) {
  switch (effort) {
    case Effort::quick: return 0.1;
    case Effort::normal: return 1.0;
    case Effort::thorough: return 20.0;
  }
  return 1.0;
}

FoundFrames search_frames(const SearchSpace& space, double limit,
                          const std::shared_ptr<KnownOrders>& orders) {
  return FrameSearch(space, limit, threads_of(space.restrictions), orders).run();
}

}  // namespace pptrain
