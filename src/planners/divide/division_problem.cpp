#include "planners/divide/division_problem.hpp"

#include <algorithm>

namespace pptrain {
namespace {

Stage mesh_of(const StageModes& modes) {
  Stage mesh;
  mesh.recompute = modes.recompute;
  mesh.zero_stage = modes.zero_stage;
  return mesh;
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
  return {restrictions.recompute.value_or(Recompute::none),
          static_cast<int>(restrictions.zero_stage.value_or(0))};
}

DivisionProblem::DivisionProblem(const Instance& instance, LayerSums& sums,
                                 const GridLayout& layout, std::int64_t micro_batch,
                                 const std::string& schedule, StageModes modes)
    : micro_batch_(micro_batch),
      samples_(static_cast<double>((micro_batch + layout.grid.data - 1) / layout.grid.data)),
      form_(static_cast<double>(instance.global_batch_size / micro_batch)),
      tensor_(layout.grid.tensor) {
  const Profile& profile = instance.profile;
  const std::int64_t micro_batches = instance.global_batch_size / micro_batch;
  workspace_ = samples_ * profile.workspace_bytes_per_sample + profile.workspace_bytes;
  for (int l = 0; l <= profile.num_layers(); ++l) {
    parameters_.push_back(sums.parameters(0, l));
    stored_.push_back(sums.stored_bytes(0, l, modes.recompute));
  }
  for (const StageLayout& kind : layout.kinds) {
    kinds_.push_back(kind_of(profile, sums, layout.grid, kind, modes));
  }
  const Plan pipeline = bare_pipeline(layout.grid.pipeline, micro_batches, schedule);
  for (int i = 0; i < layout.grid.pipeline; ++i) {
    stages_.push_back({layout.stage_kinds[i],
                       static_cast<double>(micro_batches_in_flight(pipeline, StageId(i)))});
    ++kinds_[layout.stage_kinds[i]].num_stages;
  }
}

DivisionProblem::Kind DivisionProblem::kind_of(const Profile& profile, LayerSums& sums,
                                               const Grid& grid, const StageLayout& layout,
                                               const StageModes& modes) const {
  Kind kind;
  for (ReplicaGroup group : layout.replicas) {
    group.samples = samples_;
    kind.totals.push_back(sums.times(group, grid.tensor, modes.recompute).total.data());
  }
  kind.model_bytes =
      bytes_per_parameter(profile.bytes_per_parameter, mesh_of(modes), layout.sharers);
  add_collectives(profile.bytes_per_parameter, layout, modes, kind);
  kind.cuts.assign(static_cast<std::size_t>(num_layers()) + 1, 0.0);
  for (int end = 1; end < num_layers(); ++end) {
    for (const Link& link : layout.next_links) {
      const double bytes = samples_ * profile.layers[end - 1].output_bytes;
      kind.cuts[end] = std::max(kind.cuts[end], 2.0 * (bytes / link.bandwidth + link.latency));
    }
  }
  kind.memory = layout.memory;
  add_bounds(kind);
  return kind;
}

void DivisionProblem::add_collectives(const BytesPerParameter& bytes, const StageLayout& layout,
                                      const StageModes& modes, Kind& kind) const {
  const auto collective = [&](const ReplicaSum::Ring& ring, double bytes_each) {
    const ReplicaSum::Ring without_latency = {
        ring.members, {ring.slowest.bandwidth, 0.0}, ring.share};
    return Collective{without_latency.seconds(bytes_each / tensor_), ring.seconds(0.0)};
  };
  for (const ReplicaSum& sum : layout.sums) {
    const Collective across = collective(sum.across(), bytes.sent());
    for (const ReplicaSum::Ring& ring : sum.within()) {
      const Collective within = collective(ring, bytes.sent());
      kind.gradients.push_back(
          {within.per_parameter + across.per_parameter, within.latency + across.latency});
      // Weights are gathered before F and again before B: together as much as an all-reduce of
      // them.
      if (modes.zero_stage >= 3 && ring.members > 1)
        kind.gathers.push_back(collective(ring, bytes.weight));
    }
  }
}

/// Any one replica and any one link bound the slowest from below; those that are taken are slow for
/// the whole model.
void DivisionProblem::add_bounds(Kind& kind) const {
  const int layers = num_layers();
  const double* total = *std::max_element(
      kind.totals.begin(), kind.totals.end(),
      [layers](const double* a, const double* b) { return a[layers] < b[layers]; });
  Collective gather;
  for (const Collective& c : kind.gathers) {
    if (c.per_parameter >= gather.per_parameter) gather = c;
  }
  for (int l = 0; l <= layers; ++l)
    kind.least_seconds.push_back(total[l] + gather.per_parameter * parameters_[l]);
  kind.least_beside = gather.latency;
  if (layers > 1) kind.least_cut = *std::min_element(kind.cuts.begin() + 1, kind.cuts.end() - 1);
}

double DivisionProblem::iteration_seconds(const std::vector<Interval>& layers) const {
  StageLabel all;
  for (int i = 0; i < num_stages(); ++i) {
    all =
        combined(all, label(i, static_cast<int>(layers[i].begin), static_cast<int>(layers[i].end)));
  }
  return form_.seconds(all);
}

bool DivisionProblem::fits(const std::vector<Interval>& layers) const {
  for (int i = 0; i < num_stages(); ++i) {
    if (!fits(i, static_cast<int>(layers[i].begin), static_cast<int>(layers[i].end))) return false;
  }
  return true;
}

}  // namespace pptrain
