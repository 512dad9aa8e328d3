#include "planners/meshes/balanced_mesh.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace pptrain {

const double* SampleTimes::Row::totals(std::int64_t samples) {
  const auto index = static_cast<std::size_t>(samples);
  if (index >= known_.size()) known_.resize(index + 1, nullptr);
  if (known_[index] == nullptr) {
    group_.samples = static_cast<double>(samples);
    known_[index] = sums_.times(group_, tensor_parallel_, recompute_, sharding_).total.data();
  }
  return known_[index];
}

SampleTimes::Row& SampleTimes::row(const ReplicaGroup& group, int tensor_parallel,
                                   Recompute recompute, Sharding sharding) {
  const Key key = {
      group.kinds, group.link.bandwidth, group.link.latency, tensor_parallel, recompute, sharding};
  return rows_.try_emplace(key, sums_, group, tensor_parallel, recompute, sharding).first->second;
}

BalancedMesh::BalancedMesh(const Instance& instance, SampleTimes& times, const StageMesh& mesh,
                           std::int64_t micro_batch, const std::vector<StageOption>& options,
                           Shares shares)
    : micro_batch_(micro_batch),
      shares_(shares),
      workspace_bytes_(instance.profile.workspace_bytes),
      by_speed_(cost_by_speed(instance, times, mesh, options)) {}

MeshCost BalancedMesh::cost_by_speed(const Instance& instance, SampleTimes& times,
                                     const StageMesh& mesh,
                                     const std::vector<StageOption>& options) {
  for (const StageOption& option : options) {
    rows_.emplace_back();
    for (const StageMesh::RowClass& row_class : mesh.classes()) {
      rows_.back().push_back(
          &times.row(row_class.group, mesh.tensor_parallel(), option.recompute, mesh.sharding()));
    }
  }
  if (shares_ == Shares::even) {
    return {instance, times.sums(), mesh, even_division(micro_batch_, mesh.replicas()), options};
  }
  const int layers = instance.profile.num_layers();
  const auto seconds = [&](int k, std::int64_t samples) {
    return rows_[0][k]->seconds(samples, 0, layers);
  };
  return {instance, times.sums(), mesh, shares_by_speed(mesh, micro_batch_, seconds), options};
}

double BalancedMesh::least_seconds(int begin, int end) const {
  double least = infinity;
  for (int option = 0; option < static_cast<int>(rows_.size()); ++option) {
    least = std::min(least, by_speed_.least_seconds(option, begin, end));
  }
  return least;
}

std::optional<StageCost> BalancedMesh::cost(int begin, int end, double in_flight) const {
  std::optional<StageCost> best;
  if (const std::optional<int> option = by_speed_.fitting_option(begin, end, in_flight)) {
    best = {by_speed_.seconds(*option, begin, end), *option, true};
  }
  if (shares_ == Shares::even || mesh().classes().size() == 1) return best;
  for (int option = 0; option < static_cast<int>(rows_.size()); ++option) {
    if (best && by_speed_.seconds(option, begin, end) >= best->seconds) continue;
    const std::optional<LoadBalance> balanced = balance(option, begin, end, in_flight);
    if (!balanced) continue;
    const double seconds = balanced->seconds + by_speed_.gather_seconds(option, begin, end);
    if (!best || seconds < best->seconds) best = {seconds, option, false};
  }
  return best;
}

std::vector<LoadClass> BalancedMesh::classes(int option, int begin, int end,
                                             double in_flight) const {
  const double state = by_speed_.state_bytes(option, begin, end);
  const double per_sample = by_speed_.bytes_per_sample(option, begin, end, in_flight);
  std::vector<LoadClass> classes;
  for (const StageMesh::RowClass& row_class : mesh().classes()) {
    classes.push_back(row_class.load_class(state, workspace_bytes_, per_sample));
  }
  return classes;
}

std::optional<LoadBalance> BalancedMesh::balance(int option, int begin, int end,
                                                 double in_flight) const {
  const std::vector<SampleTimes::Row*>& rows = rows_[option];
  return balance_load(
      classes(option, begin, end, in_flight), micro_batch_,
      [&](int k, std::int64_t samples) { return rows[k]->seconds(samples, begin, end); });
}

std::optional<std::vector<Interval>> BalancedMesh::samples(int option, int begin, int end,
                                                           double in_flight) const {
  if (shares_ == Shares::even) return by_speed_.samples();
  const std::optional<LoadBalance> balanced = balance(option, begin, end, in_flight);
  if (!balanced) return std::nullopt;
  return samples_of(mesh(), balanced->shares);
}

BalancedMesh::Tightest BalancedMesh::tightest(int begin, int end, double in_flight) const {
  Tightest best = {infinity, 0, {}};
  for (int option = 0; option < static_cast<int>(rows_.size()); ++option) {
    const std::vector<LoadClass> all = classes(option, begin, end, in_flight);
    Shortage shortage = least_shortage(all, micro_batch_);
    const double part = shortage.bytes / all[shortage.load_class].memory;
    if (part < best.shortage) best = {part, option, std::move(shortage.shares)};
  }
  return best;
}

}  // namespace pptrain
