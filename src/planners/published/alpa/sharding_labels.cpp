#include "planners/published/alpa/sharding_labels.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace pptrain {

void ShardingLabels::OpenRuns::push(const std::vector<double>& label, int tail, int run) {
  values.insert(values.end(), label.begin(), label.end());
  tails.push_back(tail);
  runs.push_back(run);
}

void ShardingLabels::OpenRuns::erase(int i) {
  if (i + 1 < size()) {
    std::copy_n(at(size() - 1), stride, at(i));
    tails[i] = tails.back();
    runs[i] = runs.back();
  }
  values.resize(values.size() - static_cast<std::size_t>(stride));
  tails.pop_back();
  runs.pop_back();
}

ShardingLabels::ShardingLabels(const ShardingCost& cost, std::vector<ShardingRun>& pool)
    : cost_(cost), pool_(pool), num_classes_(static_cast<int>(cost.device_classes().size())) {}

void ShardingLabels::search(const ShardingGoal& goal, const Visit& visit) {
  goal_ = &goal;
  first_ = 0;
  while (first_ < goal.end && goal.rest[first_] == infinity) ++first_;
  if (first_ == goal.end) return;
  find_least_rest();
  with_memory_ = cost_.may_lack_memory(first_, goal.end, goal.in_flight);
  open_.assign(cost_.num_divisions(), {});
  openings_.clear();
  for (int d = 0; d < cost_.num_divisions(); ++d) {
    const DivisionCost& division = cost_.division(d);
    open_[d].stride = static_cast<int>(division.passes.size() + division.reductions.size()) +
                      (with_memory_ ? 2 * num_classes_ : 0);
    open({d, d, -1, std::vector<double>(with_memory_ ? 2 * num_classes_ : 0, 0.0)}, 0.0, 0.0,
         goal.end);
  }
  for (const Opening& opening : openings_) insert(opening, goal.end);
  for (int layer = goal.end - 1; layer >= first_; --layer) {
    for (int d = 0; d < cost_.num_divisions(); ++d) {
      for (int i = open_[d].size() - 1; i >= 0; --i) {
        double* label = open_[d].at(i);
        const double least = bound(d, label, open_[d].tails[i], layer) + least_rest_[layer][d];
        if (!grow(d, label, layer) || least >= goal.limit) {
          open_[d].erase(i);
          continue;
        }
        if (goal.rest[layer] == infinity) continue;
        visit(layer, {pass_seconds(d, label, layer), reduction_seconds(d, label, layer), d,
                      open_[d].tails[i], open_[d].runs[i]});
      }
    }
    if (layer > first_) change_divisions(layer);
  }
}

/// Layer by layer upwards: what an open run still costs at least, with what lies before the stage.
void ShardingLabels::find_least_rest() {
  const int num_divisions = cost_.num_divisions();
  const std::vector<double> never(num_divisions, infinity);
  least_rest_.assign(goal_->end + 1, never);
  least_onward_.assign(goal_->end + 1, never);
  for (int layer = first_; layer <= goal_->end; ++layer) {
    for (int d = 0; d < num_divisions && layer > first_; ++d) {
      least_onward_[layer][d] = least_rest_[layer - 1][d] +
                                weighed_run(cost_.division(d), goal_->weights, layer - 1, layer);
    }
    for (int d = 0; d < num_divisions; ++d) {
      double least = least_onward_[layer][d];
      if (layer < goal_->end) {
        least = std::min(least, goal_->rest[layer]);
        for (int before = 0; before < num_divisions; ++before) {
          if (before == d || least_onward_[layer][before] == infinity) continue;
          least =
              std::min(least, goal_->weights.seconds * cost_.repartition_seconds(before, d, layer) +
                                  weighed_begin(cost_.division(before), goal_->weights) +
                                  least_onward_[layer][before]);
        }
      }
      least_rest_[layer][d] = least;
    }
  }
}

/// Plans to open a run in front of `layer`, given its memory and what the runs behind it take.
void ShardingLabels::open(Opening opening, double seconds, double reduction, int layer) {
  const DivisionCost& division = cost_.division(opening.division);
  std::vector<double> values;
  for (const DivisionCost::Term& term : division.passes)
    values.push_back(seconds + term.fixed + (*term.sums)[layer]);
  for (const DivisionCost::Term& term : division.reductions) {
    values.push_back(reduction + term.fixed + (*term.sums)[layer]);
  }
  values.insert(values.end(), opening.values.begin(), opening.values.end());
  opening.values = std::move(values);
  const double least = bound(opening.division, opening.values.data(), opening.tail, layer);
  if (least + least_onward_[layer][opening.division] < goal_->limit)
    openings_.push_back(std::move(opening));
}

void ShardingLabels::insert(const Opening& opening, int layer) {
  OpenRuns& open = open_[opening.division];
  const double* label = opening.values.data();
  for (int i = 0; i < open.size(); ++i) {
    if (dominates(opening.division, open.at(i), open.tails[i], label, opening.tail)) return;
  }
  for (int i = open.size() - 1; i >= 0; --i) {
    if (dominates(opening.division, label, opening.tail, open.at(i), open.tails[i])) open.erase(i);
  }
  pool_.push_back({opening.division, layer, opening.next});
  open.push(opening.values, opening.tail, static_cast<int>(pool_.size()) - 1);
}

/// Whether `a` is at least as good as `b` however the stage goes on: an iteration grows by no more
/// than the seconds of the all-reduces, and shrinks by no less than those of t_i and of the cut.
bool ShardingLabels::dominates(int division, const double* a, int tail_a, const double* b,
                               int tail_b) const {
  const auto num_passes = static_cast<int>(cost_.division(division).passes.size());
  const auto num_terms = num_passes + static_cast<int>(cost_.division(division).reductions.size());
  double later = -infinity;
  for (int i = 0; i < num_passes; ++i) later = std::max(later, a[i] - b[i]);
  double more = 0.0;
  for (int i = num_passes; i < num_terms; ++i) more = std::max(more, a[i] - b[i]);
  if (later + goal_->cut_excess[tail_a][tail_b] + more > goal_->slack) return false;
  for (int i = num_terms; i < open_[division].stride; ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}

/// Adds a layer to the memory of an open run. False when it does not fit.
bool ShardingLabels::grow(int division, double* label, int layer) const {
  if (!with_memory_) return true;
  double* bytes = label + open_[division].stride - 2 * num_classes_;
  double* samples = bytes + num_classes_;
  bool fits = true;
  for (int q = 0; q < num_classes_; ++q) {
    const DeviceClass& device = cost_.device_classes()[q];
    bytes[q] += cost_.need(device, division, layer, layer + 1, goal_->in_flight);
    samples[q] = std::max(samples[q], device.samples[division]);
    fits = fits && bytes[q] + samples[q] * cost_.workspace_per_sample() <= device.memory;
  }
  return fits;
}

/// Closes every open run in front of `layer` and opens one of every other division.
void ShardingLabels::change_divisions(int layer) {
  openings_.clear();
  for (int d = 0; d < cost_.num_divisions(); ++d) {
    for (int i = 0; i < open_[d].size(); ++i) {
      const double* label = open_[d].at(i);
      const double* end = label + open_[d].stride;
      const std::vector<double> memory(with_memory_ ? end - 2 * num_classes_ : end, end);
      const double seconds = pass_seconds(d, label, layer);
      const double reduction = reduction_seconds(d, label, layer);
      for (int before = 0; before < cost_.num_divisions(); ++before) {
        if (before == d || least_onward_[layer][before] == infinity) continue;
        open({before, open_[d].tails[i], open_[d].runs[i], memory},
             seconds + cost_.repartition_seconds(before, d, layer), reduction, layer);
      }
    }
  }
  for (const Opening& opening : openings_) insert(opening, layer);
}

double ShardingLabels::pass_seconds(int division, const double* label, int layer) const {
  const std::vector<DivisionCost::Term>& passes = cost_.division(division).passes;
  double most = 0.0;
  for (std::size_t i = 0; i < passes.size(); ++i)
    most = std::max(most, label[i] - (*passes[i].sums)[layer]);
  return most;
}

double ShardingLabels::reduction_seconds(int division, const double* label, int layer) const {
  const std::size_t first = cost_.division(division).passes.size();
  const std::vector<DivisionCost::Term>& reductions = cost_.division(division).reductions;
  double most = 0.0;
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    most = std::max(most, label[first + i] - (*reductions[i].sums)[layer]);
  }
  return most;
}

/// The goal's bound for layers from `layer` on, without the rest.
double ShardingLabels::bound(int division, const double* label, int tail, int layer) const {
  const DivisionCost& cost = cost_.division(division);
  const double seconds = label[cost.main_pass] - (*cost.passes[cost.main_pass].sums)[layer];
  const double reduction = label[cost.passes.size() + cost.main_reduction] -
                           (*cost.reductions[cost.main_reduction].sums)[layer];
  return goal_->weights.seconds * seconds + goal_->weights.reduction * reduction +
         goal_->least_cut[tail];
}

}  // namespace pptrain
