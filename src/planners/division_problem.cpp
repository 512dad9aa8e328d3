#include "planners/division_problem.hpp"

#include <algorithm>

namespace pptrain {
namespace {

double model_bytes(const BytesPerParameter& bytes, int zero_stage, double replicas) {
  return bytes.weight / (zero_stage >= 3 ? replicas : 1.0) + bytes.gradient / (zero_stage >= 2 ? replicas : 1.0) +
         bytes.optimizer / (zero_stage >= 1 ? replicas : 1.0);
}

/// In-flight counts depend on the numbers of stages and micro-batches and on the schedule alone.
Plan bare_pipeline(int stages, std::int64_t micro_batches, const std::string& schedule) {
  Plan plan;
  plan.micro_batches = micro_batches;
  plan.schedule.name = schedule;
  plan.stages.resize(static_cast<std::size_t>(stages));
  return plan;
}

}  // namespace

StageModes modes_of(const Restrictions& restrictions) {
  return {restrictions.recompute.value_or(Recompute::none), static_cast<int>(restrictions.zero_stage.value_or(0))};
}

DivisionProblem::DivisionProblem(const Instance& instance, LayerSums& sums, const GridLayout& layout,
                                 std::int64_t samples, const std::string& schedule, StageModes modes)
    : samples_(static_cast<double>(samples)), tensor_(layout.grid.tensor) {
  const Profile& profile = instance.profile;
  const std::int64_t micro_batches = instance.global_batch_size / (samples * layout.grid.data);
  repeats_ = static_cast<double>(micro_batches - 1);
  model_bytes_ = model_bytes(profile.bytes_per_parameter, modes.zero_stage, layout.grid.data);
  gradient_bytes_ = profile.bytes_per_parameter.gradient;
  workspace_ = samples_ * profile.workspace_bytes_per_sample + profile.workspace_bytes;
  for (int l = 0; l <= profile.num_layers(); ++l) {
    parameters_.push_back(sums.parameters(0, l));
    stored_.push_back(sums.stored_bytes(0, l, modes.recompute));
  }
  for (const StageLayout& kind : layout.kinds) {
    kinds_.push_back(kind_of(profile, sums, layout, kind, modes.recompute));
  }
  const Plan pipeline = bare_pipeline(layout.grid.pipeline, micro_batches, schedule);
  for (int i = 0; i < layout.grid.pipeline; ++i) {
    stages_.push_back({layout.stage_kinds[i], static_cast<double>(micro_batches_in_flight(pipeline, StageId(i)))});
    ++kinds_[layout.stage_kinds[i]].num_stages;
  }
}

DivisionProblem::Kind DivisionProblem::kind_of(const Profile& profile, LayerSums& sums, const GridLayout& grid,
                                               const StageLayout& layout, Recompute recompute) const {
  Kind kind;
  for (ReplicaGroup group : layout.replicas) {
    group.samples = samples_;
    kind.totals.push_back(sums.times(group, grid.grid.tensor, recompute).total.data());
  }
  const int layers = num_layers();
  std::sort(kind.totals.begin(), kind.totals.end(),
            [layers](const double* a, const double* b) { return a[layers] > b[layers]; });
  const int replicas = grid.grid.data;
  for (const Link& link : layout.gradient_links) {
    const Link without_latency = {link.bandwidth, 0.0};
    kind.gradient.push_back({all_reduce_seconds(without_latency, replicas, gradient_bytes_ / tensor_),
                             all_reduce_seconds(link, replicas, 0.0)});
  }
  kind.cuts.assign(static_cast<std::size_t>(layers) + 1, 0.0);
  for (int end = 1; end < layers; ++end) {
    for (const Link& link : layout.next_links) {
      const double bytes = samples_ * profile.layers[end - 1].output_bytes;
      kind.cuts[end] = std::max(kind.cuts[end], 2.0 * (bytes / link.bandwidth + link.latency));
    }
  }
  if (layers > 1) kind.least_cut = *std::min_element(kind.cuts.begin() + 1, kind.cuts.end() - 1);
  kind.memory = layout.memory;
  return kind;
}

double DivisionProblem::iteration_seconds(const std::vector<Interval>& layers) const {
  double sum = 0.0;
  double slowest = 0.0;
  double gradient = 0.0;
  for (int i = 0; i < num_stages(); ++i) {
    const int begin = static_cast<int>(layers[i].begin);
    const int end = static_cast<int>(layers[i].end);
    const double seconds = stage_seconds(i, begin, end);
    sum += seconds + cut_seconds(i, end);
    slowest = std::max(slowest, seconds);
    gradient = std::max(gradient, gradient_seconds(i, begin, end));
  }
  return repeats_ * slowest + sum + gradient;
}

bool DivisionProblem::fits(const std::vector<Interval>& layers) const {
  for (int i = 0; i < num_stages(); ++i) {
    if (!fits(i, static_cast<int>(layers[i].begin), static_cast<int>(layers[i].end))) return false;
  }
  return true;
}

}  // namespace pptrain
