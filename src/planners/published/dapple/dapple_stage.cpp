#include "planners/published/dapple/dapple_stage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

constexpr Link no_limit = {std::numeric_limits<double>::infinity(), 0.0};

}  // namespace

DappleStageShape dapple_stage_shape(const GroupLinks& links, const PlacedStage& stage,
                                    std::int64_t micro_batch) {
  DappleStageShape shape = {{}, stage.replicas, stage.slowest.bandwidth, stage.slowest.latency};
  const std::int64_t each = micro_batch / stage.replicas;
  const std::int64_t more = micro_batch % stage.replicas;  // replicas with one sample more, the
                                                           // first ones
  std::int64_t replica = 0;
  for (const TakenDevices& devices : stage.taken) {
    const int kind = links.cluster().kind_index_of_group(links.group_of_node(devices.node));
    const std::int64_t end = replica + devices.num_nodes * devices.count;
    if (replica < more) shape.parts.push_back({kind, each + 1});
    if (end > more) shape.parts.push_back({kind, each});
    replica = end;
  }
  std::sort(shape.parts.begin(), shape.parts.end());
  shape.parts.erase(std::unique(shape.parts.begin(), shape.parts.end()), shape.parts.end());
  return shape;
}

DappleStageTable::DappleStageTable(const SearchSpace& space, const DappleStageShape& shape,
                                   double in_flight)
    : num_layers_(space.instance.profile.num_layers()), shape_(shape) {
  choices_.replicas = shape.replicas;
  choices_.recompute = space.restrictions.recompute.value_or(Recompute::none);
  choices_.zero_stage = static_cast<int>(space.restrictions.zero_stage.value_or(0));
  for (const DappleStageShape::Part& part : shape.parts) {
    const ReplicaGroup group = {{part.kind}, no_limit, static_cast<double>(part.samples)};
    seconds_.emplace_back();
    for (int l = 0; l < num_layers_; ++l) {
      const PassSeconds pass = layer_seconds(space.instance, group, l, 1, choices_.recompute);
      seconds_.back().emplace_back(pass.forward, pass.backward);
    }
  }
  costs_.resize(static_cast<std::size_t>(num_layers_) * (num_layers_ + 1) / 2);
  for (int begin = 0; begin < num_layers_; ++begin) fill(space, begin, in_flight);
}

void DappleStageTable::fill(const SearchSpace& space, int begin, double in_flight) {
  const Profile& profile = space.instance.profile;
  const Link slowest = {shape_.bandwidth, shape_.latency};
  std::vector<std::pair<double, double>> sums(seconds_.size(), {0.0, 0.0});
  double parameters = 0.0;
  double stored = 0.0;
  for (int l = begin; l < num_layers_; ++l) {
    DappleStageCost& cost = costs_[row(begin) + l];
    for (std::size_t p = 0; p < sums.size(); ++p) {
      sums[p].first += seconds_[p][l].first;
      sums[p].second += seconds_[p][l].second;
      cost.forward = std::max(cost.forward, sums[p].first);
      cost.backward = std::max(cost.backward, sums[p].second);
    }
    parameters += profile.layers[l].parameters;
    stored += stored_bytes_of(profile, l, choices_.recompute);
    if (shape_.replicas > 1) {
      if (choices_.zero_stage >= 3) {
        const double gather = all_gather_seconds(slowest, shape_.replicas,
                                                 profile.bytes_per_parameter.weight * parameters);
        cost.forward += gather;
        cost.backward += gather;
      }
      cost.all_reduce = all_reduce_seconds(slowest, shape_.replicas,
                                           profile.bytes_per_parameter.sent() * parameters);
    }
    cost.most_in_flight = most_in_flight(space, parameters, stored, in_flight);
  }
}

double DappleStageTable::most_in_flight(const SearchSpace& space, double parameters, double stored,
                                        double in_flight) const {
  const Instance& instance = space.instance;
  const double model =
      bytes_per_parameter(instance.profile.bytes_per_parameter, choices_) * parameters;
  for (const DappleStageShape::Part& part : shape_.parts) {
    const auto samples = static_cast<double>(part.samples);
    const double workspace =
        samples * instance.profile.workspace_bytes_per_sample + instance.profile.workspace_bytes;
    const double memory = instance.cluster.device_kinds[part.kind].memory;
    const auto fits = [&](double count) {
      return model + samples * (count * stored) + workspace <= memory;
    };
    if (fits(in_flight)) continue;
    in_flight = std::min(
        in_flight, std::floor(std::max(0.0, memory - model - workspace) / (samples * stored)));
    if (fits(in_flight + 1.0)) in_flight += 1.0;  // rounding
    while (in_flight > 0.0 && !fits(in_flight)) in_flight -= 1.0;
  }
  return in_flight;
}

}  // namespace pptrain
