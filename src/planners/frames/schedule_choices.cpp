#include "planners/frames/schedule_choices.hpp"

#include <algorithm>
#include <numeric>

#include "plan/validate.hpp"
#include "planners/divide/allowed_cuts.hpp"
#include "planners/divide/layer_balance.hpp"

namespace pptrain {
namespace {

constexpr int most_virtual_stages = 4;

bool knows_split(const Profile& profile) {
  return std::all_of(profile.layers.begin(), profile.layers.end(), [](const ProfileLayer& layer) {
    return std::all_of(layer.rows.begin(), layer.rows.end(),
                       [](const ProfileRow& row) { return row.split_known; });
  });
}

/// ZeroPP's units worth trying: the one without bubbles, then smaller ones, which store less.
std::vector<int> units(const Restrictions& restrictions, int stages) {
  if (restrictions.unit > 0) return {restrictions.unit};
  return {0, stages, std::max(1, stages / 2)};
}

/// Schedules of so many chunks per stage, the most promising first.
std::vector<const ScheduleKind*> kinds_with(int chunks, int stages) {
  std::vector<const ScheduleKind*> kinds;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.chunks == 0 ? chunks < kind.fewest_chunks : chunks != kind.chunks) continue;
    // Tasks of one device follow one another in any case; what differs is when gradients are
    // complete.
    if (stages == 1 && (kind.has_units || (chunks == 1 && kind.name != ScheduleChoice().name)))
      continue;
    kinds.push_back(&kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto* a, const auto* b) { return a->turn < b->turn; });
  return kinds;
}

std::vector<int> chunk_counts(const Restrictions& restrictions, int stages) {
  if (!restrictions.annotations.empty()) return {1};  // they say where stages end
  if (restrictions.virtual_stages) return {static_cast<int>(*restrictions.virtual_stages)};
  if (restrictions.rule && stages == 1)
    return {1};  // other trainers have chunks on stages of a pipeline
  std::vector<int> counts(most_virtual_stages);
  std::iota(counts.begin(), counts.end(), 1);
  return counts;
}

/// F, B and W of the layers before each one, on the first kind of device that the profile knows.
std::vector<double> work_before(const Profile& profile) {
  std::vector<double> before = {0.0};
  for (const ProfileLayer& layer : profile.layers) {
    const ProfileRow& row = layer.rows.front();
    before.push_back(before.back() + row.seconds.total() / row.samples);
  }
  return before;
}

}  // namespace

std::vector<ScheduleChoice> schedule_choices(const Restrictions& restrictions,
                                             const Profile& profile, const Plan& plan) {
  const std::string& wanted = restrictions.schedule;
  if (!is_open(wanted) && schedule_kind(wanted).chunks != 0) return {plan.schedule};
  const bool split = knows_split(profile);
  std::vector<ScheduleChoice> choices;
  for (const int chunks : chunk_counts(restrictions, plan.num_stages())) {
    for (const ScheduleKind* kind : is_open(wanted) ? kinds_with(chunks, plan.num_stages())
                                                    : std::vector{&schedule_kind(wanted)}) {
      if (kind->splits_backward && !split) continue;
      if (restrictions.rule && !restrictions.rule->trainer().runs(kind->name)) continue;
      for (const int unit :
           kind->has_units ? units(restrictions, plan.num_stages()) : std::vector<int>{0}) {
        choices.push_back({kind->name, chunks, unit});
      }
    }
  }
  return choices;
}

std::optional<Plan> with_schedule(const Restrictions& restrictions, const Profile& profile,
                                  const Plan& plan, const ScheduleChoice& schedule) {
  Plan result = plan;
  result.schedule = schedule;
  const int stages = plan.num_stages();
  const int chunks = schedule.virtual_stages * stages;
  const bool same_chunks = schedule.virtual_stages == plan.schedule.virtual_stages &&
                           schedule_kind(schedule.name).placement == ChunkPlacement::loop &&
                           schedule_kind(plan.schedule.name).placement == ChunkPlacement::loop;
  if (same_chunks) return result;
  const bool blocks = std::any_of(plan.stages.begin(), plan.stages.end(),
                                  [](const Stage& s) { return !s.blocks.empty(); });
  if (blocks || chunks > profile.num_layers()) return std::nullopt;
  const std::vector<double> before = work_before(profile);
  std::vector<double> shares;
  for (int c = 0; c < chunks; ++c) {
    double work = 0.0;
    for (const Interval& held : plan.stages[stage_of_chunk(schedule.name, stages, c)].layers) {
      work += before[held.end] - before[held.begin];
    }
    shares.push_back(work / schedule.virtual_stages);
  }
  const std::vector<Interval> division =
      with_allowed_cuts(restrictions.rule.get(), division_by_shares(before, shares));
  if (division.empty()) return std::nullopt;
  for (Stage& stage : result.stages) stage.layers.clear();
  for (int c = 0; c < chunks; ++c) {
    result.stages[stage_of_chunk(schedule.name, stages, c)].layers.push_back(division[c]);
  }
  return result;
}

}  // namespace pptrain
