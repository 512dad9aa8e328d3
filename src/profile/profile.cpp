#include "profile/profile.hpp"

#include <algorithm>
#include <set>

namespace pptrain {
namespace {

LayerSeconds scaled(const LayerSeconds& s, double factor) {
  return {s.forward * factor, s.backward_input * factor, s.backward_weight * factor};
}
LayerBytes scaled(const LayerBytes& b, double factor) {
  return {b.stored * factor, b.deferred * factor, b.workspace * factor,
          b.forward_workspace * factor, b.recomputed * factor};
}

double mix(double x, double y, double fraction) { return x + (y - x) * fraction; }
LayerSeconds between(const LayerSeconds& a, const LayerSeconds& b, double fraction) {
  return {mix(a.forward, b.forward, fraction), mix(a.backward_input, b.backward_input, fraction),
          mix(a.backward_weight, b.backward_weight, fraction)};
}
LayerBytes between(const LayerBytes& a, const LayerBytes& b, double fraction) {
  return {mix(a.stored, b.stored, fraction), mix(a.deferred, b.deferred, fraction),
          mix(a.workspace, b.workspace, fraction),
          mix(a.forward_workspace, b.forward_workspace, fraction),
          mix(a.recomputed, b.recomputed, fraction)};
}

/// The rows beside a number of samples.
struct Neighbours {
  const ProfileRow* below = nullptr;  ///< largest row with samples <= the asked ones
  const ProfileRow* above = nullptr;  ///< smallest row with samples >= the asked ones

  bool any() const { return below != nullptr || above != nullptr; }
  template <class Predicate>
  bool all(const Predicate& predicate) const {
    return (below == nullptr || predicate(*below)) && (above == nullptr || predicate(*above));
  }
  /// Linear between the two, proportional through the one outside.
  template <class Value>
  auto mix(double samples, const Value& value) const {
    if (below == nullptr) return scaled(value(*above), samples / above->samples);
    if (above == nullptr) return scaled(value(*below), samples / below->samples);
    if (below->samples == above->samples) return value(*below);
    return between(value(*below), value(*above),
                   (samples - below->samples) / (above->samples - below->samples));
  }
};

Neighbours neighbours(const ProfileLayer& layer, const std::string& device, int tensor_parallel,
                      double samples) {
  Neighbours rows;
  for (const ProfileRow& row : layer.rows) {
    if (row.tensor_parallel != tensor_parallel || row.device != device) continue;
    if (row.samples <= samples && (rows.below == nullptr || row.samples > rows.below->samples))
      rows.below = &row;
    if (row.samples >= samples && (rows.above == nullptr || row.samples < rows.above->samples))
      rows.above = &row;
  }
  return rows;
}

}  // namespace

std::optional<LayerSeconds> Profile::seconds(int layer, const std::string& device,
                                             int tensor_parallel, double samples) const {
  const Neighbours rows =
      neighbours(layers[static_cast<std::size_t>(layer)], device, tensor_parallel, samples);
  if (!rows.any()) return std::nullopt;
  return rows.mix(samples, [](const ProfileRow& row) { return row.seconds; });
}

std::optional<LayerBytes> Profile::bytes(int layer, const std::string& device, int tensor_parallel,
                                         double samples) const {
  const Neighbours rows =
      neighbours(layers[static_cast<std::size_t>(layer)], device, tensor_parallel, samples);
  if (!rows.any() || !rows.all([](const ProfileRow& row) { return row.bytes.has_value(); }))
    return std::nullopt;
  return rows.mix(samples, [](const ProfileRow& row) { return *row.bytes; });
}

std::vector<int> Profile::degrees() const {
  std::set<int> seen;
  for (const ProfileLayer& layer : layers) {
    for (const ProfileRow& row : layer.rows) seen.insert(row.tensor_parallel);
  }
  return {seen.begin(), seen.end()};
}

bool Profile::has_degree(int layer, const std::string& device, int tensor_parallel) const {
  const std::vector<ProfileRow>& rows = layers[static_cast<std::size_t>(layer)].rows;
  return std::any_of(rows.begin(), rows.end(), [&](const ProfileRow& row) {
    return row.tensor_parallel == tensor_parallel && row.device == device;
  });
}

bool Profile::has_degree(const std::string& device, int tensor_parallel) const {
  for (int layer = 0; layer < num_layers(); ++layer) {
    if (!has_degree(layer, device, tensor_parallel)) return false;
  }
  return true;
}

double Profile::update_seconds(int layer, const std::string& device, int tensor_parallel) const {
  const auto& known = layers[static_cast<std::size_t>(layer)].update_seconds;
  const auto found = known.find({device, tensor_parallel});
  return found == known.end() ? 0.0 : found->second;
}

}  // namespace pptrain
