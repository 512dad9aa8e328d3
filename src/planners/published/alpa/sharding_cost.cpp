#include "planners/published/alpa/sharding_cost.hpp"

#include <algorithm>
#include <set>

namespace pptrain {
namespace {

int largest_index(const std::vector<DivisionCost::Term>& terms, int num_layers) {
  int largest = 0;
  for (std::size_t i = 1; i < terms.size(); ++i) {
    if (terms[i].of(0, num_layers) > terms[largest].of(0, num_layers))
      largest = static_cast<int>(i);
  }
  return largest;
}

/// The parts of a division as stages, for what knows stages.
Stage stage_of(const MeshDivision& division, const std::vector<Interval>& samples) {
  Stage stage;
  stage.replicas = division.replicas;
  stage.tensor_parallel = division.tensor_parallel;
  stage.samples = samples;
  return stage;
}

}  // namespace

ShardingCost::ShardingCost(const SearchSpace& space, LayerSums& sums, const MeshClass& mesh,
                           std::int64_t micro_batch)
    : instance_(space.instance),
      sums_(sums),
      mesh_(mesh),
      recompute_(space.restrictions.recompute.value_or(Recompute::none)),
      zero_stage_(static_cast<int>(space.restrictions.zero_stage.value_or(0))) {
  for (const MeshDivision& division : mesh.divisions) {
    if (division.replicas <= micro_batch) add_division(space, sums, division, micro_batch);
  }
  for (const DivisionCost& before : divisions_) {
    missing_.emplace_back();
    for (const DivisionCost& after : divisions_) {
      missing_.back().push_back(missing_samples(stage_of(*before.division, before.samples),
                                                stage_of(*after.division, after.samples)));
    }
  }
  find_device_classes(space);
}

void ShardingCost::add_division(const SearchSpace& space, LayerSums& sums,
                                const MeshDivision& division, std::int64_t micro_batch) {
  DivisionCost& cost = divisions_.emplace_back();
  cost.division = &division;
  cost.samples = even_division(micro_batch, division.replicas);
  add_passes(cost, sums);
  const BytesPerParameter& bytes = space.instance.profile.bytes_per_parameter;
  cost.reductions = reduction_terms(division, bytes.sent());
  cost.main_pass = largest_index(cost.passes, sums.num_layers());
  cost.main_reduction = largest_index(cost.reductions, sums.num_layers());
  Stage stage = stage_of(division, cost.samples);
  stage.zero_stage = zero_stage_;
  cost.bytes_per_parameter = bytes_per_parameter(bytes, stage) / division.tensor_parallel;
}

void ShardingCost::add_passes(DivisionCost& cost, LayerSums& sums) {
  std::set<std::pair<int, std::int64_t>> seen;
  std::vector<DivisionCost::Term> passes;
  for (int j = 0; j < cost.division->replicas; ++j) {
    const int kind = cost.division->row_kind[j];
    if (!seen.emplace(kind, cost.samples[j].size()).second) continue;
    ReplicaGroup group = cost.division->row_kinds[kind];
    group.samples = static_cast<double>(cost.samples[j].size());
    passes.push_back({&sums.times(group, cost.division->tensor_parallel, recompute_).total, 0.0});
  }
  cost.passes = passes;
  if (zero_stage_ < 3 || cost.division->replicas == 1) return;
  // Before F and before B the weights are gathered: together as much as one all-reduce of them.
  const double weight = instance_.profile.bytes_per_parameter.weight;
  cost.passes.clear();
  for (const DivisionCost::Term& gather : reduction_terms(*cost.division, weight)) {
    for (const DivisionCost::Term& pass : passes) {
      std::vector<double>& both = owned_.emplace_back(*pass.sums);
      for (std::size_t l = 0; l < both.size(); ++l) both[l] += (*gather.sums)[l];
      cost.passes.push_back({&both, gather.fixed});
    }
  }
}

std::vector<DivisionCost::Term> ShardingCost::reduction_terms(const MeshDivision& division,
                                                              double bytes_per_parameter) {
  std::vector<DivisionCost::Term> terms;
  for (const Link& link : division.replica_links) {
    std::vector<double>& sums = owned_.emplace_back();
    for (int l = 0; l <= sums_.num_layers(); ++l) {
      const double bytes = bytes_per_parameter * sums_.parameters(0, l) / division.tensor_parallel;
      sums.push_back(all_reduce_seconds({link.bandwidth, 0.0}, division.replicas, bytes));
    }
    terms.push_back({&sums, all_reduce_seconds(link, division.replicas, 0.0)});
  }
  return terms;
}

void ShardingCost::find_device_classes(const SearchSpace& space) {
  std::set<std::pair<int, std::vector<double>>> seen;
  const Profile& profile = space.instance.profile;
  for (int i = 0; i < mesh_.num_devices(); ++i) {
    std::vector<double> samples;
    for (const DivisionCost& cost : divisions_) {
      samples.push_back(
          static_cast<double>(cost.samples[i / cost.division->tensor_parallel].size()));
    }
    const int kind = mesh_.device_kinds[i];
    if (!seen.emplace(kind, samples).second) continue;
    device_classes_.push_back(
        {space.instance.cluster.device_kinds[kind].memory - profile.workspace_bytes,
         std::move(samples)});
  }
}

bool ShardingCost::may_lack_memory(int begin, int end, double in_flight) const {
  constexpr double rounding = 1.0 + 1e-12;  // sums may be taken in another order
  for (const DeviceClass& device : device_classes_) {
    double most =
        *std::max_element(device.samples.begin(), device.samples.end()) * workspace_per_sample();
    for (int layer = begin; layer < end; ++layer) {
      double largest = 0.0;
      for (int d = 0; d < num_divisions(); ++d) {
        largest = std::max(largest, need(device, d, layer, layer + 1, in_flight));
      }
      most += largest;
    }
    if (most * rounding > device.memory) return true;
  }
  return false;
}

double ShardingCost::repartition_seconds(int before, int after, int layer) const {
  const double bytes = instance_.profile.layers[layer - 1].output_bytes;
  double seconds = 0.0;
  for (const double samples : {missing_[before][after], missing_[after][before]}) {
    if (samples > 0.0) seconds += samples * bytes / mesh_.slowest.bandwidth + mesh_.slowest.latency;
  }
  return seconds;
}

}  // namespace pptrain
