#include "planners/published/dapple/dapple_search.hpp"

#include <algorithm>

#include "planners/meshes/frontier.hpp"

namespace pptrain {
namespace {

/// Pipelines that are handed out: the best is chosen of them with the exact formula.
constexpr std::size_t most_found = 16;

}  // namespace

DappleSearch::DappleSearch(const SearchSpace& space, DappleCosts& costs, int most_stages)
    : space_(space),
      costs_(costs),
      bounds_(space, costs),
      stages_(costs.graph().stages()),
      num_layers_(space.instance.profile.num_layers()),
      num_devices_(space.instance.cluster.num_devices()),
      most_stages_(most_stages),
      repeats_(costs.micro_batches() - 1.0),
      counts_(StageCounts::of(space.restrictions.pipeline, costs.memory_limits_stages())),
      order_(costs.graph().last_stages_first()) {}

std::vector<DapplePipeline> DappleSearch::search(const DappleSearchLimits& limits) {
  limits_ = limits;
  limit_ = limits.seconds * (1.0 + tie_tolerance);
  pool_.clear();
  ranges_.assign(stages_.size() * num_layers_, {});
  tails_.assign(num_layers_, {});
  labels_.assign(num_layers_, {});
  for (const int stage : order_) {
    if (space_.stop.requested()) {
      stopped_ = true;
      return {};
    }
    if (costs_.possible(stage)) expand(stage);
  }
  return best_pipelines();
}

void DappleSearch::expand(int stage) {
  if (stages_[stage].num_left == 0) {
    put_last(stage);
  } else {
    find_tails(stage);
    for (int end = first_begin(stage) + 1; end < num_layers_ && !space_.stop.requested(); ++end) {
      put_before(stage, end);
    }
  }
  keep(stage);
}

/// Moves the labels of the stage to the pool.
void DappleSearch::keep(int stage) {
  for (int begin = 0; begin < num_layers_; ++begin) {
    Labels& labels = labels_[begin];
    if (labels.empty()) continue;
    ranges_[static_cast<std::size_t>(stage) * num_layers_ + begin] = {
        static_cast<int>(pool_.size()), static_cast<int>(labels.size())};
    pool_.insert(pool_.end(), labels.begin(), labels.end());
    labels.clear();
  }
}

/// Every device is used by some stage, so only the first stage has none before it, and only it
/// begins with layer 0.
int DappleSearch::first_begin(int stage) const {
  return stages_[stage].num_left + stages_[stage].replicas == num_devices_ ? 0 : 1;
}

/// The last layer that a stage may begin with: more would be too much for the devices before it.
int DappleSearch::last_begin(int stage, int end) const {
  if (first_begin(stage) == 0) return 0;
  int begin = end - 1;
  while (begin > 0 && bounds_.before(stage, begin).slowest > limit_) --begin;
  return begin;
}

void DappleSearch::put_last(int stage) {
  for (int begin = last_begin(stage, num_layers_); begin >= std::max(first_begin(stage), 1);
       --begin) {
    const DappleStageCost& cost = costs_.stage(stage, begin, num_layers_);
    if (cost.most_in_flight < costs_.in_flight(1)) break;
    Label label;
    label.ending = cost.all_reduce;
    label.pivot = cost.both();
    label.steady = repeats_ * label.pivot;
    label.num_stages = 1;
    label.end = num_layers_;
    offer(stage, begin, label);
    if (label.steady > limit_) break;
  }
}

/// What comes behind a stage: the communication stage and the stages behind it.
void DappleSearch::find_tails(int stage) {
  for (Labels& tails : tails_) tails.clear();
  const std::vector<Placement>& placements = costs_.graph().next(stage);
  for (std::size_t n = 0; n < placements.size() && !space_.stop.requested(); ++n) {
    const std::vector<double>* seconds = nullptr;
    for (int end = first_begin(stage) + 1; end < num_layers_; ++end) {
      const Range labels = range(placements[n].stage, end);
      if (labels.count == 0) continue;
      if (seconds == nullptr) seconds = &costs_.transfer_seconds(stage, n);
      const DappleBounds::Least least = bounds_.with(stage, end);
      for (int i = labels.first; i < labels.first + labels.count; ++i) {
        Label tail = pool_[i];
        prepend(tail, (*seconds)[end - 1], (*seconds)[end - 1], 0.0);
        if (!may_win(tail, least)) continue;
        tail.end = end;
        tail.next = static_cast<int>(n);
        tail.label = i;
        insert(tails_[end], tail);
      }
    }
  }
}

void DappleSearch::put_before(int stage, int end) {
  const Labels& tails = tails_[end];
  if (tails.empty()) return;
  for (int begin = last_begin(stage, end); begin >= first_begin(stage); --begin) {
    const DappleStageCost& cost = costs_.stage(stage, begin, end);
    if (cost.most_in_flight < 1.0 || repeats_ * cost.both() > limit_)
      break;  // more layers need no less
    for (const Label& tail : tails) {
      if (costs_.in_flight(tail.num_stages + 1) > cost.most_in_flight) continue;
      Label label = tail;
      prepend(label, cost.forward, cost.backward, cost.all_reduce);
      ++label.num_stages;
      offer(stage, begin, label);
    }
  }
}

/// A stage or communication stage in front of all others, which becomes the pivot or not (Eq. 3).
void DappleSearch::prepend(Label& label, double forward, double backward, double all_reduce) const {
  const double both = forward + backward;
  if (repeats_ * both > label.threshold()) {
    label.steady = repeats_ * both;
    label.between = 0.0;
    label.pivot = both;
  } else {
    label.between += both;
  }
  label.ending = std::max(all_reduce, label.ending - backward);
}

/// Whether some pipeline with these stages at its end can be within the limit. See DappleSearch for
/// L, whose first term is the threshold and w_Q. What comes before only adds to the threshold.
/// Where the pivot stays it adds all of its w_s; where the pivot moves, (M-1) w of the new one
/// exceeds the threshold.
bool DappleSearch::may_win(Label& label, const DappleBounds::Least& before) const {
  const double threshold = label.threshold();
  const double least = before.slowest + label.pivot;
  const double stays = threshold + label.pivot + std::max(label.ending, before.sum);
  const double moves = std::max(threshold, before.slowest) + threshold / repeats_;
  label.promise = std::max(least, stays);
  return std::max(least, repeats_ > 0.0 ? std::min(stays, moves) : stays) <= limit_;
}

void DappleSearch::offer(int stage, int begin, Label label) {
  const auto& pipeline = space_.restrictions.pipeline;
  const int num_stages = label.num_stages + (begin > 0 ? 1 : 0);
  if (num_stages > most_stages_ || (begin == 0 && pipeline && *pipeline != num_stages)) return;
  ++num_examined_;
  label.promise = label.seconds();
  const bool may =
      begin == 0 ? label.promise <= limit_ : may_win(label, bounds_.before(stage, begin));
  if (may) insert(labels_[begin], label);
}

bool DappleSearch::covers(const Label& a, const Label& b) const {
  if (a.ending > b.ending || a.threshold() > b.threshold()) return false;
  if (a.threshold() + a.pivot > b.threshold() + b.pivot) return false;
  return counts_.covers(a.num_stages, b.num_stages);
}

void DappleSearch::insert(Labels& labels, const Label& label) const {
  if (!admit(labels, label, [this](const Label& a, const Label& b) { return covers(a, b); }))
    return;
  if (limits_.most_labels == 0 || labels.size() < limits_.most_labels) {
    labels.push_back(label);
    return;
  }
  Label& worst =
      *std::max_element(labels.begin(), labels.end(),
                        [](const Label& a, const Label& b) { return a.promise < b.promise; });
  if (label.promise < worst.promise) worst = label;
}

std::vector<DapplePipeline> DappleSearch::best_pipelines() const {
  std::vector<DapplePipeline> found;
  const std::vector<Placement>& first = costs_.graph().first();
  for (std::size_t f = 0; f < first.size(); ++f) {
    const Range labels = range(first[f].stage, 0);
    for (int i = labels.first; i < labels.first + labels.count; ++i) {
      found.push_back(pipeline_of(static_cast<int>(f), pool_[i]));
    }
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const DapplePipeline& a, const DapplePipeline& b) { return a.seconds < b.seconds; });
  if (found.size() > most_found) found.resize(most_found);
  return found;
}

DapplePipeline DappleSearch::pipeline_of(int first, const Label& label) const {
  DapplePipeline pipeline = {label.seconds(), {}};
  const Placement* placed = &costs_.graph().first()[first];
  const Label* at = &label;
  for (std::int64_t begin = 0;; begin = at->end, at = &pool_[at->label]) {
    pipeline.stages.push_back({stages_[placed->stage].replicas, placed->policy, {begin, at->end}});
    if (at->next < 0) return pipeline;
    placed = &costs_.graph().next(placed->stage)[at->next];
  }
}

}  // namespace pptrain
