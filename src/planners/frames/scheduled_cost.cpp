#include "planners/frames/scheduled_cost.hpp"

#include <algorithm>

#include "config/schedule_kinds.hpp"
#include "cost/state_bytes.hpp"
#include "plan/validate.hpp"

namespace pptrain {
namespace {

/// Micro-batches whose activations each stage stores.
std::vector<double> stored_micro_batches(const ScheduleChoice& schedule, int stages,
                                         std::int64_t micro_batches) {
  Plan plan;
  plan.micro_batches = micro_batches;
  plan.schedule = schedule;
  plan.stages.resize(static_cast<std::size_t>(stages));
  // The order of "auto" is made for the memory that there is; with less than 1F1B stores it becomes
  // long.
  if (is_open(schedule.name)) plan.schedule.name = "1f1b";
  std::vector<double> counts;
  for (int s = 0; s < stages; ++s) {
    counts.push_back(static_cast<double>(micro_batches_in_flight(plan, StageId(s))));
  }
  return counts;
}

}  // namespace

ScheduledCost::ScheduledCost(const FrameCosts& costs, const ScheduleChoice& schedule,
                             const FrameModes& modes)
    : costs_(costs),
      modes_(modes),
      bytes_(costs.instance().profile.bytes_per_parameter),
      micro_batches_(static_cast<double>(costs.micro_batches())),
      split_(schedule_kind(schedule.name).splits_backward),
      per_stage_(schedule.virtual_stages),
      in_flight_(
          stored_micro_batches(schedule, costs.placed().num_stages(), costs.micro_batches())),
      held_(in_flight_.size()),
      terms_(in_flight_.size()),
      changed_(in_flight_.size()) {
  const int stages = costs.placed().num_stages();
  chunks_of_.resize(in_flight_.size());
  for (int c = 0; c < stages * per_stage_; ++c) {
    stage_of_.push_back(stage_of_chunk(schedule.name, stages, c));
    chunks_of_[static_cast<std::size_t>(stage_of_.back())].push_back(c);
  }
  for (int zero_stage = 0; zero_stage < static_cast<int>(state_.size()); ++zero_stage) {
    const double kept = state_bytes_per_parameter(bytes_, zero_stage, infinity).sum();
    state_[static_cast<std::size_t>(zero_stage)] = {
        kept, bytes_.weight + bytes_.gradient + bytes_.optimizer - kept};
  }
  chunks_.resize(stage_of_.size());
  passes_.resize(stage_of_.size());
  parts_.resize(stage_of_.size());
}

/// Gathers of whole chunks are too many for ZeRO stage 3 to pay on some stages alone.
int ScheduledCost::strongest_zero() const {
  if (!modes_.zero_by_need) return modes_.zero_stage;
  return per_stage_ == 1 ? 3 : 2;
}

void ScheduledCost::Held::add(const Held& other) {
  for (const int again : {0, 1}) {
    work[again] += other.work[again];
    stored[again] += other.stored[again];
    moment[again] = std::max(moment[again], other.moment[again]);
  }
  forward += other.forward;
  weight += other.weight;
  update += other.update;
  parameters += other.parameters;
  least_parameters = std::min(least_parameters, other.least_parameters);
}

/// The `Recompute` of stages that compute all of F again, or what the rule has for the others.
std::size_t ScheduledCost::mode(bool again) const {
  return static_cast<std::size_t>(again ? Recompute::full : weakest(modes_.recompute));
}

/// Bytes of a sample that one device of a stage stores of the first layers.
const std::vector<double>& ScheduledCost::stored_sums(int stage, bool again) const {
  return costs_.kind(stage).held->stored[mode(again)];
}

void ScheduledCost::set_part(int stage, const Interval& layers, Held& held) const {
  const StageKind& kind = costs_.kind(stage);
  const LayerSums& sums = costs_.sums();
  const int begin = static_cast<int>(layers.begin);
  const int end = static_cast<int>(layers.end);
  for (const int again : {0, 1}) {
    if (again != 0 && modes_.recompute == RecomputeRule::none) break;
    const PassSeconds pass = kind.times[mode(again != 0)]->of(begin, end);
    held.work[again] = pass.forward + pass.backward;
    held.forward = pass.forward;
    const std::vector<double>& stored = stored_sums(stage, again != 0);
    held.stored[again] = stored[layers.end] - stored[layers.begin];
    const std::vector<double>& moment = kind.held->moment[again];
    held.moment[again] = *std::max_element(moment.begin() + begin, moment.begin() + end);
  }
  held.weight = (*kind.weight)[layers.end] - (*kind.weight)[layers.begin];
  held.update = (*kind.update)[layers.end] - (*kind.update)[layers.begin];
  held.parameters = sums.parameters(begin, end) / kind.tensor;
  held.least_parameters = held.parameters;
}

void ScheduledCost::hold(const std::vector<Interval>& chunks) {
  replaced_parts_.clear();
  replaced_stages_.clear();
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (chunks[c] == chunks_[c]) continue;
    ReplacedPart& part = replaced_parts_.emplace_back();
    part.number = c;
    part.layers = chunks_[c];
    part.held = parts_[c];
    chunks_[c] = chunks[c];
    set_part(stage_of_[c], chunks[c], parts_[c]);
    const auto s = static_cast<std::size_t>(stage_of_[c]);
    if (changed_[s] != 0) continue;
    changed_[s] = 1;
    ReplacedStage& stage = replaced_stages_.emplace_back();
    stage.number = s;
    stage.held = held_[s];
    stage.terms = terms_[s];
  }
  for (const ReplacedStage& stage : replaced_stages_) {
    const std::size_t s = stage.number;
    changed_[s] = 0;
    held_[s] = Held();
    for (const int c : chunks_of_[s]) held_[s].add(parts_[static_cast<std::size_t>(c)]);
    set_terms(static_cast<int>(s), terms_[s]);
  }
}

void ScheduledCost::undo() {
  for (const ReplacedPart& part : replaced_parts_) {
    chunks_[part.number] = part.layers;
    parts_[part.number] = part.held;
  }
  for (const ReplacedStage& stage : replaced_stages_) {
    held_[stage.number] = stage.held;
    terms_[stage.number] = stage.terms;
  }
  replaced_parts_.clear();
  replaced_stages_.clear();
}

bool ScheduledCost::computes_again(int stage) const {
  if (modes_.recompute == RecomputeRule::needed)
    return fit(stage, false, strongest_zero()).overrun > 0.0;
  return modes_.recompute == RecomputeRule::full;
}

Recompute ScheduledCost::recompute_of(int stage) const {
  if (modes_.recompute == RecomputeRule::selective) return Recompute::selective;
  return computes_again(stage) ? Recompute::full : Recompute::none;
}

/// Sums of gradients of so many parameters that follow the last W.
double ScheduledCost::seconds_left(const StageKind& kind, double parameters,
                                   const StageTerms& terms) const {
  const double bytes = bytes_.sent() * parameters;
  return terms.zero_stage == 0 ? kind.sum.seconds(bytes)
                               : 0.5 * kind.ring.seconds(terms.largest_slice * bytes);
}

/// Seconds of a micro-batch on a stage: work, or what ZeRO sums after every W, or gathers for F and
/// for B, where that is more. F ends with the layer that B begins with, and the other way round,
/// and may keep what it has gathered.
double ScheduledCost::seconds_each(int stage, const StageTerms& terms) const {
  const StageKind& kind = costs_.kind(stage);
  const Held& held = held_[static_cast<std::size_t>(stage)];
  double each = held.work[terms.again];
  if (terms.zero_stage >= 2)
    each = std::max(each,
                    0.5 * kind.ring.seconds(terms.largest_slice * bytes_.sent() * held.parameters));
  // Chunks may keep what they have gathered from one task to the next.
  if (terms.zero_stage >= 3 && per_stage_ == 1) {
    const Interval& layers = chunks_[static_cast<std::size_t>(stage)];
    const auto begin = static_cast<int>(layers.begin);
    const auto end = static_cast<int>(layers.end);
    const double kept =
        costs_.sums().parameters(begin, begin + 1) + costs_.sums().parameters(end - 1, end);
    const double bytes =
        terms.largest_slice * bytes_.weight * (held.parameters - 0.5 * kept / kind.tensor);
    each = std::max({each, kind.ring.seconds(bytes), 2.0 * costs_.gather_per_byte(stage) * bytes});
  }
  return each;
}

void ScheduledCost::set_terms(int stage, StageTerms& terms) const {
  const StageKind& kind = costs_.kind(stage);
  const Held& held = held_[static_cast<std::size_t>(stage)];
  const Interval& first = chunks_[static_cast<std::size_t>(stage)];  // a stage's first chunk has
                                                                     // its number
  const auto begin = static_cast<std::size_t>(first.begin);
  const auto end = static_cast<std::size_t>(first.end);
  terms.again = computes_again(stage);
  terms.zero_stage = modes_.zero_stage;
  Fit fits = fit(stage, terms.again, terms.zero_stage);
  while (fits.overrun > 0.0 && terms.zero_stage < strongest_zero()) {
    fits = fit(stage, terms.again, ++terms.zero_stage);
  }
  terms.overrun = fits.overrun;
  terms.largest_slice = fits.largest_slice;
  const PassSeconds pass =
      kind.least[mode(terms.again)]->of(static_cast<int>(first.begin), static_cast<int>(first.end));
  const double parameters =
      costs_.sums().parameters(static_cast<int>(begin), static_cast<int>(end));
  terms.left = seconds_left(kind, parameters / kind.tensor, terms);
  // W of any chunk may be the last where B and W are apart.
  const double least_left = split_ ? seconds_left(kind, held.least_parameters, terms) : terms.left;
  terms.work = micro_batches_ * seconds_each(stage, terms) + least_left;
  terms.last_backward = micro_batches_ * (held.work[terms.again] - (split_ ? held.weight : 0.0));
  const double cut = costs_.cut_seconds(stage, first.end);
  terms.forward = pass.forward + cut;
  terms.backward = cut + pass.backward;
  terms.first_weight = split_ ? (*kind.weight)[end] - (*kind.weight)[begin] : 0.0;
  terms.update = held.update / (terms.zero_stage >= 1 ? kind.sharers : 1.0);
  terms.begun = terms.handed = 0.0;
  if (terms.zero_stage == 1 || terms.zero_stage == 2) {
    // Weights begin to come while the step before still updates others; F of the last layer is
    // behind them all.
    const double gathered = terms.largest_slice * bytes_.weight * parameters / kind.tensor;
    const double come = costs_.gather_per_byte(stage) * gathered - terms.update;
    const auto last_layer = static_cast<int>(end) - 1;
    const PassSums& slowest = *kind.times[mode(terms.again)];
    const double before_last = slowest.of(static_cast<int>(begin), last_layer).forward;
    terms.begun = come - before_last;
    terms.handed =
        come + kind.least[mode(terms.again)]->of(last_layer, static_cast<int>(end)).forward + cut;
  }
}

double ScheduledCost::least_seconds(int stage, const std::vector<Interval>& chunks) const {
  const PassSums& times = *costs_.kind(stage).times[mode(modes_.recompute == RecomputeRule::full)];
  double work = 0.0;
  for (const int c : chunks_of_[static_cast<std::size_t>(stage)]) {
    const Interval& layers = chunks[static_cast<std::size_t>(c)];
    const PassSeconds pass = times.of(static_cast<int>(layers.begin), static_cast<int>(layers.end));
    work += pass.forward + pass.backward;
  }
  return micro_batches_ * work;
}

ScheduledCost::Cost ScheduledCost::of_stages(const std::vector<Interval>& chunks) {
  hold(chunks);
  ++num_costed_;
  Cost cost;
  cost.waits = waits();
  double head = 0.0;   // before a stage can begin
  double drain = 0.0;  // behind a stage's last B: the stages before it, and their sums
  double update = 0.0;
  for (int s = 0; s < static_cast<int>(terms_.size()); ++s) {
    const StageTerms& stage = terms_[static_cast<std::size_t>(s)];
    const double seconds =
        std::max(head, stage.begun) + std::max(stage.work, stage.last_backward + drain);
    const bool fullest = stage.overrun > cost.overrun;
    if (fullest || (cost.overrun == 0.0 && seconds > cost.seconds)) cost.slowest = s;
    cost.overrun = std::max(cost.overrun, stage.overrun);
    cost.seconds = std::max(cost.seconds, seconds);
    head = std::max(head + stage.forward, stage.handed);
    drain = stage.backward + std::max(drain - stage.first_weight, stage.left);
    update = std::max(update, stage.update);
  }
  cost.seconds += update;
  return cost;
}

ScheduledCost::Cost ScheduledCost::of(const std::vector<Interval>& chunks) {
  Cost cost = of_stages(chunks);
  for (int c = 0; c < num_chunks(); ++c) passes_[static_cast<std::size_t>(c)] = pass_of(c, chunks);
  cost.seconds =
      std::max({cost.seconds, path_seconds(), uplink_seconds(chunks), summing_seconds()});
  return cost;
}

/// Chunks that stages run at about the same time, their first ones, their second ones and so on,
/// take as long as the longest of them; orders that interleave them hide about half of that.
double ScheduledCost::waits() const {
  constexpr double share = 0.5;
  if (per_stage_ == 1) return 0.0;
  const int stages = static_cast<int>(held_.size());
  double in_turn = 0.0;
  for (int first = 0; first < num_chunks(); first += stages) {
    double longest = 0.0;
    for (int c = first; c < first + stages; ++c) {
      longest = std::max(longest, parts_[static_cast<std::size_t>(c)].work[0]);
    }
    in_turn += longest;
  }
  double slowest = 0.0;
  for (const Held& held : held_) slowest = std::max(slowest, held.work[0]);
  return share * micro_batches_ * (in_turn - slowest);
}

}  // namespace pptrain
