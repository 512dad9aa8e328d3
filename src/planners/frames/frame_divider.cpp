#include "planners/frames/frame_divider.hpp"

#include <algorithm>
#include <functional>

#include "plan/validate.hpp"
#include "plan/zero_groups.hpp"
#include "planners/divide/allowed_cuts.hpp"

namespace pptrain {
namespace {

/// Whether the orders of a schedule are searched, so that they become shorter with more memory.
bool uses_memory(const ScheduleChoice& schedule) {
  const OrderSearch search = schedule_kind(schedule.name).search;
  return search == OrderSearch::improved || search == OrderSearch::improved_if_short;
}

}  // namespace

FrameDivider::FrameDivider(const SearchSpace& space, const FrameCosts& costs, double limit)
    : space_(space),
      costs_(costs),
      limit_(limit),
      schedules_(frame_schedules(space, costs.placed().num_stages())),
      rules_(recompute_rules(space)),
      zeros_(zero_stages(space.restrictions, costs.placed())),
      recomputing_seconds_(costs.least_seconds(Recompute::full)) {
  const std::vector<NodeGroup>& groups = space.instance.cluster.groups;
  shares_cores_ = std::any_of(groups.begin(), groups.end(),
                              [](const NodeGroup& group) { return group.shares_cores(); });
}

std::vector<FrameDivision> FrameDivider::of(std::size_t begin, std::size_t end) {
  const int stages = costs_.placed().num_stages();
  for (std::size_t i = begin; i < std::min(end, schedules_.size()); ++i) {
    const ScheduleChoice& schedule = schedules_[i];
    if (!is_small(space_.instance) && is_needless(schedule)) continue;
    if (stages * schedule.virtual_stages <= space_.instance.profile.num_layers())
      from(schedule, 0, 0);
  }
  return std::move(made_);
}

/// Whether "auto" with as many chunks fits, and stores no more: its orders are searched, and steps
/// of the best plans try other schedules in any case. Only units of ZeroPP gather weights less
/// often, which ZeRO stage 3 gains from.
bool FrameDivider::is_needless(const ScheduleChoice& schedule) const {
  if (is_open(schedule.name) || schedule_kind(schedule.name).placement != ChunkPlacement::loop)
    return false;
  const auto beside = std::find_if(made_.begin(), made_.end(), [&](const FrameDivision& made) {
    return is_open(made.schedule.name) && made.schedule.virtual_stages == schedule.virtual_stages &&
           std::none_of(made.zero_stages.begin(), made.zero_stages.end(),
                        [](int zero) { return zero == 3; });
  });
  if (beside == made_.end()) return false;
  return stores_no_less(ScheduledCost(costs_, schedule, {}),
                        {ScheduledCost(costs_, beside->schedule, {}).in_flight()});
}

std::vector<FrameDivision> FrameDivider::first() { return of(0, 1); }

std::vector<FrameDivision> FrameDivider::others() { return of(1, schedules_.size()); }

std::vector<FrameDivision> FrameDivider::after(const FrameDivision& refused) {
  from(refused.schedule, refused.rule, refused.zero + 1);
  return std::move(made_);
}

std::vector<FrameDivision> FrameDivider::with_other_zeros(const FrameDivision& division) {
  for (std::size_t zero = 0; zero < zeros_.size(); ++zero) {
    if (zero != division.zero) add(division.schedule, division.rule, zero);
  }
  return std::move(made_);
}

/// ZeRO stages above 1 are looked at where stage 1 does not fit, a rule where those before it fit
/// with stage 2 at least, or with a slowest stage that takes much longer than where the strongest
/// ZeRO stage makes room. Orders that memory makes shorter are looked at with the next stronger
/// stage too where ZeRO is needed at all, and stronger stages where they are needed alone where
/// stage 1 fits with a slowest stage that takes clearly longer. Small clusters look at everything.
void FrameDivider::from(const ScheduleChoice& schedule, std::size_t rule, std::size_t zero) {
  if (is_small(space_.instance)) return from_all(schedule, rule, zero);
  const std::size_t strongest = zeros_.size() - 1;
  constexpr double much_longer = 1.1;
  constexpr double clearly_longer = 1.005;
  for (; rule < rules_.size(); ++rule, zero = 0) {
    if (rules_[rule] == RecomputeRule::full && recomputing_seconds_ >= limit_) continue;
    // No ZeRO stage fits where the strongest one does not.
    std::optional<double> roomy;
    if (zero < strongest && !(roomy = add(schedule, rule, strongest, Keep::nearest))) continue;
    const std::size_t weakest = zero;
    for (; zero < zeros_.size(); ++zero) {
      const std::optional<double> slowest = add(schedule, rule, zero);
      if (!slowest) continue;
      if (zeros_[zero] == 1 && roomy && *slowest > clearly_longer * *roomy && has_unlike_zeros())
        add(schedule, rule, zero, Keep::fitting, Zero::by_need);
      const bool any_stronger = zero + 1 < zeros_.size();
      if (zeros_[zero] >= 1 && zero > weakest && any_stronger && uses_memory(schedule))
        add(schedule, rule, zero + 1);
      const bool has_room = !roomy || *slowest <= much_longer * *roomy;
      if (has_room && (zeros_[zero] == 1 || (zeros_[zero] == 0 && !any_stronger))) return;
      if (zeros_[zero] >= 1) break;
    }
  }
}

void FrameDivider::from_all(const ScheduleChoice& schedule, std::size_t rule, std::size_t zero) {
  if (rule > 0 || zero > 0) return;  // they were made at once
  for (; rule < rules_.size(); ++rule) {
    for (zero = 0; zero < zeros_.size(); ++zero) {
      add(schedule, rule, zero);
      if (zeros_[zero] == 1 && has_unlike_zeros())
        add(schedule, rule, zero, Keep::fitting, Zero::by_need);
    }
  }
}

/// Whether stages may have ZeRO stages of their own.
bool FrameDivider::has_unlike_zeros() const {
  const Restrictions& restrictions = space_.restrictions;
  return costs_.placed().num_stages() > 1 && !restrictions.zero_stage &&
         !restrictions.shares_evenly() && zeros_.back() == 3;
}

/// Divides the layers anew, beginning with a division that was best for frames that save less
/// memory: where that leads to one that does not fit, with an even one too.
void FrameDivider::divide(ScheduledCost& cost, std::vector<Interval>& known) {
  const bool begins_even = known.empty();
  known = divided_layers(cost, known);
  const ScheduledCost::Cost least = cost.of(known);
  if (begins_even || least.overrun == 0.0) return;
  std::vector<Interval> other = divided_layers(cost);
  if (cost.of(other).below(least)) known = std::move(other);
}

/// Whether every stage stores as many micro-batches as with one of these schedules, or more.
bool FrameDivider::stores_no_less(const ScheduledCost& cost, const Stores& others) {
  const std::vector<double>& own = cost.in_flight();
  return std::any_of(others.begin(), others.end(), [&](const std::vector<double>& other) {
    return std::equal(own.begin(), own.end(), other.begin(), std::greater_equal<>());
  });
}

/// Seconds of all micro-batches on the slowest stage, where the frame fits by the closed form.
std::optional<double> FrameDivider::add(const ScheduleChoice& schedule, std::size_t rule,
                                        std::size_t zero, Keep keep, Zero zeros) {
  constexpr double per_frame = 2.0;    // tasks simulated in the time that preparing a frame takes
  constexpr double per_costed = 0.25;  // tasks simulated in the time that costing a division takes
  work_ += per_frame;
  const bool by_need = zeros == Zero::by_need;
  const std::size_t number = by_need ? zeros_.size() : zero;
  ScheduledCost cost(costs_, schedule,
                     {rules_[rule], zeros_[zero], by_need, !space_.restrictions.shares_evenly()});
  const ChunkPlacement placement = schedule_kind(schedule.name).placement;
  Stores& too_much = too_much_[{schedule.virtual_stages, placement, rule, number}];
  // Without a limit the plan that lacks least is told.
  if (limit_ < infinity && (stores_no_less(cost, too_much) || !cost.may_fit())) return std::nullopt;
  std::vector<Interval>& known = divisions_[{cost.splits(), schedule.virtual_stages, placement}];
  divide(cost, known);
  known = with_allowed_cuts(space_.restrictions.rule.get(), std::move(known));
  if (known.empty()) return 0.0;  // nothing that saves more memory has other cuts
  work_ += per_costed * static_cast<double>(cost.num_costed());
  const ScheduledCost::Cost least = cost.of(known);
  const bool fits = least.overrun == 0.0;
  if (!fits) too_much.push_back(cost.in_flight());
  std::optional<double> slowest;
  for (int s = 0; fits && s < costs_.placed().num_stages(); ++s)
    slowest = std::max(slowest.value_or(0.0), cost.least_seconds(s, known));
  if (fits && keep == Keep::nearest) return slowest;
  if (fits ? least.seconds >= limit_ : least.overrun >= least_overrun_) return slowest;
  FrameDivision made = {
      least.seconds, least.seconds + least.waits, schedule, rule, number, known, {}, {}, {}};
  for (int s = 0; s < costs_.placed().num_stages(); ++s) {
    made.recompute.push_back(cost.recompute_of(s));
    made.zero_stages.push_back(cost.zero_stage_of(s));
    made.zero_slices.push_back(cost.slices_of(s));
  }
  if (fits) {
    // Shared cores may take longer than any device.
    if (shares_cores_) {
      made.bound =
          std::max(made.bound, core_limit_seconds(space_.instance, plan_of(space_, costs_, made)));
    }
    const auto same = [&made](const FrameDivision& other) {
      return other.schedule == made.schedule && other.zero_stages == made.zero_stages &&
             other.zero_slices == made.zero_slices && other.chunks == made.chunks &&
             other.recompute == made.recompute;
    };
    if (made.bound < limit_ && std::none_of(made_.begin(), made_.end(), same))
      made_.push_back(std::move(made));
  } else {
    nearest_ = std::move(made);
    least_overrun_ = least.overrun;
  }
  return slowest;
}

Plan plan_of(const SearchSpace& space, const FrameCosts& costs, const FrameDivision& division) {
  const PlacedShape& placed = costs.placed();
  Plan plan;
  plan.global_batch_size = space.instance.global_batch_size;
  plan.micro_batch_size = costs.micro_batch();
  plan.micro_batches = costs.micro_batches();
  plan.schedule = division.schedule;
  for (int s = 0; s < placed.num_stages(); ++s) {
    Stage& stage = plan.stages.emplace_back();
    stage.replicas = placed.data(s);
    stage.tensor_parallel = placed.tensor(s);
    stage.devices = placed.mesh(s);
    stage.samples = costs.samples(s);
    stage.recompute = division.recompute[static_cast<std::size_t>(s)];
    divide_state(stage, division.zero_stages[static_cast<std::size_t>(s)], placed.zero_group(),
                 space.instance.cluster);
    stage.zero_slices = division.zero_slices[static_cast<std::size_t>(s)];
  }
  for (int c = 0; c < static_cast<int>(division.chunks.size()); ++c) {
    const int stage = stage_of_chunk(division.schedule.name, placed.num_stages(), c);
    plan.stages[static_cast<std::size_t>(stage)].layers.push_back(
        division.chunks[static_cast<std::size_t>(c)]);
  }
  return plan;
}

}  // namespace pptrain
