#include "planners/division_problem.hpp"

#include <algorithm>

namespace pptrain {

DivisionProblem::DivisionProblem(const Instance& instance, const GridLayout& layout, std::int64_t samples,
                                 const std::string& schedule)
    : layout_(layout), samples_(static_cast<double>(samples)) {
  const Profile& profile = instance.profile;
  const std::int64_t micro_batches = instance.global_batch_size / (samples * layout.grid.data);
  repeats_ = static_cast<double>(micro_batches - 1);
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  model_bytes_ = bytes.weight + bytes.gradient + bytes.optimizer;
  gradient_bytes_ = bytes.gradient;
  workspace_ = profile.workspace_bytes;
  parameters_ = stored_ = {0.0};
  for (const ProfileLayer& layer : profile.layers) {
    parameters_.push_back(parameters_.back() + layer.parameters);
    stored_.push_back(stored_.back() + layer.stored_bytes);
    output_.push_back(layer.output_bytes);
  }
  // In-flight counts depend on stages and micro-batches alone, so one device per stage shows them.
  std::vector<Interval> layers;
  for (int i = 0; i < layout.grid.pipeline; ++i) layers.push_back({i, i + 1});
  const Plan pipeline = uniform_plan(layers, 1, 1, micro_batches, 1, schedule);
  for (int i = 0; i < layout.grid.pipeline; ++i) {
    StageCost stage;
    stage.in_flight = static_cast<double>(micro_batches_in_flight(pipeline, StageId(i)));
    for (const ReplicaGroup& group : layout.stages[i].replicas) stage.times.push_back(times_of(instance, group));
    stages_.push_back(std::move(stage));
  }
}

int DivisionProblem::times_of(const Instance& instance, ReplicaGroup group) {
  group.samples = samples_;
  const auto known = std::find(groups_.begin(), groups_.end(), group);
  if (known != groups_.end()) return static_cast<int>(known - groups_.begin());
  std::vector<double> sums = {0.0};
  for (int l = 0; l < instance.profile.num_layers(); ++l) {
    sums.push_back(sums.back() + layer_seconds(instance, group, l, layout_.grid.tensor, Recompute::none).total);
  }
  groups_.push_back(group);
  times_.push_back(std::move(sums));
  return static_cast<int>(groups_.size()) - 1;
}

double DivisionProblem::stage_seconds(int stage, int begin, int end) const {
  double slowest = 0.0;
  for (const int t : stages_[stage].times) slowest = std::max(slowest, times_[t][end] - times_[t][begin]);
  return slowest;
}

double DivisionProblem::gradient_seconds(int stage, int begin, int end) const {
  const double bytes = gradient_bytes_ * (parameters_[end] - parameters_[begin]) / layout_.grid.tensor;
  double slowest = 0.0;
  for (const Link& link : layout_.stages[stage].gradient_links) {
    slowest = std::max(slowest, all_reduce_seconds(link, layout_.grid.data, bytes));
  }
  return slowest;
}

double DivisionProblem::cut_seconds(int stage, int end) const {
  const double bytes = samples_ * output_[end - 1];
  double slowest = 0.0;
  for (const Link& link : layout_.stages[stage].next_links) {
    slowest = std::max(slowest, 2.0 * (bytes / link.bandwidth + link.latency));
  }
  return slowest;
}

double DivisionProblem::memory_use(int stage, int begin, int end) const {
  const double need = model_bytes_ * (parameters_[end] - parameters_[begin]) / layout_.grid.tensor +
                      stages_[stage].in_flight * samples_ * (stored_[end] - stored_[begin]) + workspace_;
  return need / layout_.stages[stage].memory;
}

double DivisionProblem::iteration_seconds(const std::vector<Interval>& layers) const {
  double sum = 0.0;
  double slowest = 0.0;
  double gradient = 0.0;
  for (int i = 0; i < num_stages(); ++i) {
    const int begin = static_cast<int>(layers[i].begin);
    const int end = static_cast<int>(layers[i].end);
    const double seconds = stage_seconds(i, begin, end);
    sum += seconds;
    if (i + 1 < num_stages()) sum += cut_seconds(i, end);
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
