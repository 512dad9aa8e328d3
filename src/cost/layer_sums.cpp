#include "cost/layer_sums.hpp"

#include <algorithm>

namespace pptrain {

bool takes_time_selectively(const Profile& profile) {
  return std::any_of(profile.layers.begin(), profile.layers.end(),
                     [](const ProfileLayer& layer) { return layer.selective_part > 0.0; });
}

LayerSums::LayerSums(const Instance& instance)
    : instance_(instance),
      selects_(takes_time_selectively(instance.profile)),
      parameters_{0.0},
      stored_{0.0},
      stored_inputs_{0.0} {
  for (int l = 0; l < instance.profile.num_layers(); ++l) {
    parameters_.push_back(parameters_.back() + instance.profile.layers[l].parameters);
    stored_.push_back(stored_.back() + stored_bytes_of(instance.profile, l, Recompute::none));
    stored_inputs_.push_back(stored_inputs_.back() +
                             stored_bytes_of(instance.profile, l, Recompute::full));
  }
}

PassSeconds LayerSums::layer_of(const ReplicaGroup& group, int layer, int tensor_parallel,
                                Recompute recompute, Sharding sharding) const {
  if (sharding == Sharding::profiled)
    return layer_seconds(instance_, group, layer, tensor_parallel, recompute);
  for (const int kind : group.kinds) {
    if (!instance_.profile.has_degree(layer, instance_.cluster.device_kinds[kind].name,
                                      tensor_parallel))
      return {};
  }
  const TensorPattern pattern =
      least_communication(instance_.profile, group.link, layer, tensor_parallel, group.samples);
  return layer_seconds(instance_, group, layer, tensor_parallel, recompute, pattern);
}

const PassSums& LayerSums::times(const ReplicaGroup& group, int tensor_parallel,
                                 Recompute recompute, Sharding sharding) {
  if (recompute == Recompute::selective && !selects_) recompute = Recompute::none;
  const Key key = {group.kinds, group.link.bandwidth, group.link.latency, group.samples,
                   group.loads, tensor_parallel,      recompute,          sharding};
  const auto [place, is_new] = times_.try_emplace(key);
  PassSums& sums = place->second;
  if (!is_new) return sums;
  PassSeconds sum;
  for (int l = 0; l <= num_layers(); ++l) {
    sums.forward.push_back(sum.forward);
    sums.backward.push_back(sum.backward);
    sums.total.push_back(sum.total);
    if (l == num_layers()) break;
    const PassSeconds pass = layer_of(group, l, tensor_parallel, recompute, sharding);
    sum.forward += pass.forward;
    sum.backward += pass.backward;
    sum.total += pass.total;
  }
  return sums;
}

double LayerSums::stored_bytes(int begin, int end, Recompute recompute) const {
  const std::vector<double>& stored = recompute == Recompute::full ? stored_inputs_ : stored_;
  return stored[end] - stored[begin];
}

}  // namespace pptrain
