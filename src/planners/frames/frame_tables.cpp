#include "planners/frames/frame_tables.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace pptrain {
namespace {

/// What a member holds of a layer for a micro-batch of `samples`, by the rows; nothing where they
/// do not say it of all layers.
std::optional<std::vector<LayerBytes>> layer_bytes(const Profile& profile,
                                                   const std::string& device, int tensor_parallel,
                                                   double samples) {
  std::vector<LayerBytes> all;
  for (int l = 0; l < profile.num_layers(); ++l) {
    const std::optional<LayerBytes> bytes = profile.bytes(l, device, tensor_parallel, samples);
    if (!bytes) return std::nullopt;
    all.push_back(*bytes);
  }
  return all;
}

/// The closed form's bytes of each layer for a sample; passes have the profile's workspace beside
/// them.
std::vector<LayerBytes> formula_bytes(const Profile& profile) {
  std::vector<LayerBytes> all;
  for (const ProfileLayer& layer : profile.layers) {
    LayerBytes& bytes = all.emplace_back();
    bytes.stored = layer.stored_bytes;
  }
  return all;
}

/// Sums over the layers. Full recomputation leaves repeated layers their input, and the others all
/// that they store.
HeldSums held_sums(const Profile& profile, const std::vector<LayerBytes>& layers,
                   int tensor_parallel, double samples, bool by_rows) {
  HeldSums sums;
  for (std::vector<double>& stored : sums.stored) stored.push_back(0.0);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const double all = layers[l].stored / samples;
    const double input = profile.input_bytes(static_cast<std::int64_t>(l), tensor_parallel);
    const double again = profile.layers[l].repeated ? std::min(all, input) : all;
    const auto add = [&sums](Recompute recompute, double stored) {
      std::vector<double>& of = sums.stored[static_cast<std::size_t>(recompute)];
      of.push_back(of.back() + stored);
    };
    add(Recompute::none, all);
    add(Recompute::selective, all - layers[l].recomputed / samples);
    add(Recompute::full, again);
    const double workspace =
        by_rows ? layers[l].workspace / samples : profile.workspace_bytes_per_sample;
    sums.moment[0].push_back(workspace);
    sums.moment[1].push_back(workspace + (by_rows ? all - again : 0.0));
  }
  return sums;
}

}  // namespace

const std::vector<double>& FrameTables::weight_seconds(const ReplicaGroup& group,
                                                       int tensor_parallel) {
  const auto [entry, is_new] = weights_.try_emplace({group.kinds, tensor_parallel, group.samples});
  std::vector<double>& sums = entry->second;
  if (!is_new) return sums;
  sums.push_back(0.0);
  for (int l = 0; l < instance_.profile.num_layers(); ++l) {
    double most = 0.0;
    for (const int kind : group.kinds) {
      most = std::max(
          most, device_seconds(instance_, kind, l, tensor_parallel, group.samples).backward_weight);
    }
    sums.push_back(sums.back() + most);
  }
  return sums;
}

const std::vector<double>& FrameTables::update_seconds(int kind, int tensor_parallel) {
  const auto [entry, is_new] = updates_.try_emplace({kind, tensor_parallel});
  std::vector<double>& sums = entry->second;
  if (!is_new) return sums;
  const std::string& name = instance_.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
  sums.push_back(0.0);
  for (int l = 0; l < instance_.profile.num_layers(); ++l) {
    sums.push_back(sums.back() + instance_.profile.update_seconds(l, name, tensor_parallel));
  }
  return sums;
}

FrameTables::FrameTables(const Instance& instance) : instance_(instance), sums_(instance) {
  std::map<std::tuple<double, double, double, bool>, std::size_t> known;
  for (int l = 0; l < instance.profile.num_layers(); ++l) {
    const ProfileLayer& layer = instance.profile.layers[static_cast<std::size_t>(l)];
    const double input =
        l == 0 ? 0.0 : instance.profile.layers[static_cast<std::size_t>(l) - 1].output_bytes;
    const auto [entry, is_new] = known.try_emplace(
        {layer.parameters, layer.stored_bytes, input, layer.repeated}, unlike_layers_.size());
    if (is_new) unlike_layers_.emplace_back(l, 0);
    ++unlike_layers_[entry->second].second;
  }
}

const HeldSums& FrameTables::held(int kind, int tensor_parallel, double samples) {
  const auto [entry, is_new] = held_.try_emplace({kind, tensor_parallel, samples});
  if (!is_new) return entry->second;
  const Profile& profile = instance_.profile;
  const std::string& name = instance_.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
  const std::optional<std::vector<LayerBytes>> rows =
      layer_bytes(profile, name, tensor_parallel, samples);
  entry->second = rows ? held_sums(profile, *rows, tensor_parallel, samples, true)
                       : held_sums(profile, formula_bytes(profile), tensor_parallel, 1.0, false);
  return entry->second;
}

}  // namespace pptrain
