#include "planners/frames/scheduled_cost.hpp"

#include <algorithm>
#include <numeric>

#include "config/schedule_kinds.hpp"
#include "plan/validate.hpp"
#include "planners/divide/balance.hpp"

namespace pptrain {
namespace {

/// Micro-batches whose activations each stage stores.
std::vector<double> stored_micro_batches(const ScheduleChoice& schedule, int stages, std::int64_t micro_batches) {
  Plan plan;
  plan.micro_batches = micro_batches;
  plan.schedule = schedule;
  plan.stages.resize(static_cast<std::size_t>(stages));
  // The order of "auto" is made for the memory that there is.
  if (schedule.name == "auto") plan.schedule.name = schedule.virtual_stages > 1 ? "interleaved-1f1b" : "1f1b";
  std::vector<double> counts;
  for (int s = 0; s < stages; ++s) {
    counts.push_back(static_cast<double>(micro_batches_in_flight(plan, StageId(s))));
  }
  return counts;
}

}  // namespace

ScheduledCost::ScheduledCost(const FrameCosts& costs, const ScheduleChoice& schedule, const FrameModes& modes)
    : costs_(costs),
      modes_(modes),
      bytes_(costs.instance().profile.bytes_per_parameter),
      micro_batches_(static_cast<double>(costs.micro_batches())),
      split_(schedule_kind(schedule.name).splits_backward),
      per_stage_(schedule.virtual_stages),
      in_flight_(stored_micro_batches(schedule, costs.placed().num_stages(), costs.micro_batches())),
      held_(in_flight_.size()) {
  const int stages = costs.placed().num_stages();
  for (int c = 0; c < stages * per_stage_; ++c) stage_of_.push_back(stage_of_chunk(schedule.name, stages, c));
}

void ScheduledCost::add(int stage, const Interval& layers) {
  const StageKind& kind = costs_.kind(stage);
  const LayerSums& sums = costs_.sums();
  Held& held = held_[static_cast<std::size_t>(stage)];
  const int begin = static_cast<int>(layers.begin);
  const int end = static_cast<int>(layers.end);
  for (const int again : {0, 1}) {
    if (again != 0 && modes_.recompute == RecomputeRule::none) break;
    const PassSeconds pass = kind.times[again]->of(begin, end);
    held.work[again] += pass.forward + pass.backward;
    held.stored[again] += sums.stored_bytes(begin, end, again != 0 ? Recompute::full : Recompute::none);
  }
  held.weight += (*kind.weight)[layers.end] - (*kind.weight)[layers.begin];
  held.update += (*kind.update)[layers.end] - (*kind.update)[layers.begin];
  const double parameters = sums.parameters(begin, end) / kind.tensor;
  held.parameters += parameters;
  held.least_parameters = std::min(held.least_parameters, parameters);
}

double ScheduledCost::overrun(int stage, bool again) const {
  const StageKind& kind = costs_.kind(stage);
  const Held& held = held_[static_cast<std::size_t>(stage)];
  const Profile& profile = costs_.instance().profile;
  const double each = bytes_.weight / (modes_.zero_stage >= 3 ? kind.sharers : 1.0) +
                      bytes_.gradient / (modes_.zero_stage >= 2 ? kind.sharers : 1.0) +
                      bytes_.optimizer / (modes_.zero_stage >= 1 ? kind.sharers : 1.0);
  const double fixed = each * held.parameters + profile.workspace_bytes;
  const double per_sample =
      profile.workspace_bytes_per_sample + in_flight_[static_cast<std::size_t>(stage)] * held.stored[again];
  double worst = 0.0;
  for (const StageKind::Holder& holder : kind.holders) {
    worst = std::max(worst, (fixed + holder.samples * per_sample) / holder.memory - 1.0);
  }
  return worst;
}

bool ScheduledCost::computes_again(int stage) const {
  if (modes_.recompute == RecomputeRule::needed) return overrun(stage, false) > 0.0;
  return modes_.recompute == RecomputeRule::full;
}

Recompute ScheduledCost::recompute_of(int stage) const {
  if (modes_.recompute == RecomputeRule::selective) return Recompute::selective;
  return computes_again(stage) ? Recompute::full : Recompute::none;
}

/// Sums of gradients of so many parameters that follow the last W.
double ScheduledCost::seconds_left(const StageKind& kind, double parameters) const {
  const double bytes = bytes_.sent() * parameters;
  return modes_.zero_stage == 0 ? kind.sum.seconds(bytes) : 0.5 * kind.ring.seconds(bytes);
}

/// Seconds of a micro-batch: work, or what ZeRO sums after every W, or gathers for F and for B, where that is more.
double ScheduledCost::seconds_each(const StageKind& kind, const Held& held, bool again) const {
  double each = held.work[again];
  if (modes_.zero_stage >= 2) each = std::max(each, 0.5 * kind.ring.seconds(bytes_.sent() * held.parameters));
  // Chunks may keep what they have gathered from one task to the next.
  if (modes_.zero_stage >= 3 && per_stage_ == 1) {
    each = std::max(each, kind.ring.seconds(bytes_.weight * held.parameters));
  }
  return each;
}

ScheduledCost::Cost ScheduledCost::of_stages(const std::vector<Interval>& chunks) {
  std::fill(held_.begin(), held_.end(), Held());
  chunk_work_.clear();
  for (int c = 0; c < num_chunks(); ++c) {
    const Held before = held_[static_cast<std::size_t>(stage_of(c))];
    add(stage_of(c), chunks[static_cast<std::size_t>(c)]);
    chunk_work_.push_back(held_[static_cast<std::size_t>(stage_of(c))].work[0] - before.work[0]);
  }
  Cost cost;
  cost.waits = waits();
  double head = 0.0;   // before a stage can begin
  double drain = 0.0;  // behind a stage's last B: the stages before it, and their sums
  double update = 0.0;
  for (int s = 0; s < static_cast<int>(held_.size()); ++s) {
    const StageKind& kind = costs_.kind(s);
    const Held& held = held_[static_cast<std::size_t>(s)];
    const bool again = computes_again(s);
    cost.overrun = std::max(cost.overrun, overrun(s, again));
    const Interval& first = chunks[static_cast<std::size_t>(s)];  // a stage's first chunk has its number
    const auto begin = static_cast<std::size_t>(first.begin);
    const auto end = static_cast<std::size_t>(first.end);
    const PassSeconds pass = kind.least[again]->of(static_cast<int>(first.begin), static_cast<int>(first.end));
    const double first_weight = split_ ? (*kind.weight)[end] - (*kind.weight)[begin] : 0.0;
    const double parameters = costs_.sums().parameters(static_cast<int>(begin), static_cast<int>(end));
    const double left = seconds_left(kind, parameters / kind.tensor);
    // W of any chunk may be the last where B and W are apart.
    const double least_left = split_ ? seconds_left(kind, held.least_parameters) : left;
    const double last_backward = micro_batches_ * (held.work[again] - (split_ ? held.weight : 0.0));
    cost.seconds = std::max({cost.seconds, head + micro_batches_ * seconds_each(kind, held, again) + least_left,
                             head + last_backward + drain});
    const double cut = costs_.cut_seconds(s, first.end);
    head += pass.forward + cut;
    drain = cut + pass.backward + std::max(drain - first_weight, left);
    update = std::max(update, held.update / (modes_.zero_stage >= 1 ? kind.sharers : 1.0));
  }
  cost.seconds += update;
  return cost;
}

ScheduledCost::Cost ScheduledCost::of(const std::vector<Interval>& chunks) {
  Cost cost = of_stages(chunks);
  cost.seconds = std::max({cost.seconds, path_seconds(chunks), uplink_seconds(chunks)});
  return cost;
}

/// Chunks that stages run at about the same time, their first ones, their second ones and so on, take as long as the
/// longest of them; orders that interleave them hide about half of that.
double ScheduledCost::waits() const {
  constexpr double share = 0.5;
  if (per_stage_ == 1) return 0.0;
  const int stages = static_cast<int>(held_.size());
  double in_turn = 0.0;
  for (int first = 0; first < num_chunks(); first += stages) {
    in_turn += *std::max_element(chunk_work_.begin() + first, chunk_work_.begin() + first + stages);
  }
  double slowest = 0.0;
  for (const Held& held : held_) slowest = std::max(slowest, held.work[0]);
  return share * micro_batches_ * (in_turn - slowest);
}

/// All that crosses cuts, over the uplink that takes longest for it.
double ScheduledCost::uplink_seconds(const std::vector<Interval>& chunks) const {
  const std::vector<ProfileLayer>& layers = costs_.instance().profile.layers;
  double busiest = 0.0;
  for (const FrameCosts::UplinkLoad& uplink : costs_.uplinks()) {
    double seconds = 0.0;
    for (int c = 0; c + 1 < num_chunks(); ++c) {
      const int from = stage_of(c);
      const int to = stage_of(c + 1);
      if (from == to) continue;
      // Chunks that go back to the stage before use the same links.
      const auto stage = static_cast<std::size_t>(to + 1 == from ? to : from);
      const auto end = static_cast<std::size_t>(chunks[static_cast<std::size_t>(c)].end);
      seconds += uplink.seconds_per_byte[stage] * layers[end - 1].output_bytes;
    }
    busiest = std::max(busiest, seconds);
  }
  return busiest;
}

/// One micro-batch through all chunks and back.
double ScheduledCost::path_seconds(const std::vector<Interval>& chunks) const {
  double seconds = 0.0;
  for (int c = 0; c < num_chunks(); ++c) {
    const int stage = stage_of(c);
    const StageKind& kind = costs_.kind(stage);
    const Interval& layers = chunks[static_cast<std::size_t>(c)];
    const PassSums& times = *kind.least[computes_again(stage)];
    const PassSeconds pass = times.of(static_cast<int>(layers.begin), static_cast<int>(layers.end));
    seconds += pass.forward + pass.backward;
    if (split_) seconds -= (*kind.weight)[layers.end] - (*kind.weight)[layers.begin];
    if (c + 1 < num_chunks() && stage_of(c + 1) > stage) seconds += 2.0 * costs_.cut_seconds(stage, layers.end);
  }
  return seconds;
}

namespace {

/// Chunks whose work is in proportion to the speed of their stages, as near as whole layers allow.
std::vector<Interval> even_work(const ScheduledCost& cost) {
  const FrameCosts& costs = cost.costs();
  const PassSums& times = *costs.kind(0).times[0];
  std::vector<double> before;
  for (std::size_t l = 0; l < times.forward.size(); ++l) before.push_back(times.forward[l] + times.backward[l]);
  std::vector<double> speeds;
  for (int c = 0; c < cost.num_chunks(); ++c) {
    const PassSums& own = *costs.kind(cost.stage_of(c)).times[0];
    speeds.push_back(1.0 / (own.forward.back() + own.backward.back()));
  }
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<double> shares;
  for (const double speed : speeds) shares.push_back(before.back() * speed / all);
  return division_by_shares(before, shares);
}

/// Moves the cuts behind the chunks `from` to `to` by `step` layers; whether every chunk still has one.
bool move_cuts(std::vector<Interval>& chunks, int from, int to, int step) {
  for (int c = from; c <= to; ++c) {
    chunks[static_cast<std::size_t>(c)].end += step;
    chunks[static_cast<std::size_t>(c) + 1].begin += step;
  }
  return chunks[static_cast<std::size_t>(from)].size() > 0 && chunks[static_cast<std::size_t>(to) + 1].size() > 0;
}

}  // namespace

std::vector<Interval> divided_layers(ScheduledCost& cost, std::vector<Interval> start) {
  constexpr int most_wide_chunks = 32;  // with more of them only neighbours exchange layers
  constexpr int most_cuts = 8;
  std::vector<Interval> best = start.empty() ? even_work(cost) : std::move(start);
  ScheduledCost::Cost least = cost.of_stages(best);
  const int chunks = cost.num_chunks();
  const int reach = chunks <= most_wide_chunks ? std::min(chunks, most_cuts) : 1;
  for (bool any = true; any;) {
    any = false;
    for (int width = 0; width < reach; ++width) {
      for (int from = 0; from + width + 1 < chunks; ++from) {
        for (const int step : {-1, 1}) {
          std::vector<Interval> other = best;
          if (!move_cuts(other, from, from + width, step)) continue;
          const ScheduledCost::Cost next = cost.of_stages(other);
          if (!next.below(least)) continue;
          least = next;
          best = std::move(other);
          any = true;
        }
      }
    }
  }
  return best;
}

}  // namespace pptrain
