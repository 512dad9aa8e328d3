#include "profile/profile.hpp"

#include <algorithm>

namespace pptrain {
namespace {

LayerSeconds scaled(const LayerSeconds& s, double factor) {
  return {s.forward * factor, s.backward_input * factor, s.backward_weight * factor};
}

LayerSeconds between(const LayerSeconds& a, const LayerSeconds& b, double fraction) {
  const auto mix = [fraction](double x, double y) { return x + (y - x) * fraction; };
  return {mix(a.forward, b.forward), mix(a.backward_input, b.backward_input),
          mix(a.backward_weight, b.backward_weight)};
}

}  // namespace

std::optional<LayerSeconds> Profile::seconds(int layer, const std::string& device, int tensor_parallel,
                                             double samples) const {
  const ProfileRow* below = nullptr;  // largest row with samples <= the asked ones
  const ProfileRow* above = nullptr;  // smallest row with samples >= the asked ones
  for (const ProfileRow& row : layers[static_cast<std::size_t>(layer)].rows) {
    if (row.tensor_parallel != tensor_parallel || row.device != device) continue;
    if (row.samples <= samples && (below == nullptr || row.samples > below->samples)) below = &row;
    if (row.samples >= samples && (above == nullptr || row.samples < above->samples)) above = &row;
  }
  if (below == nullptr && above == nullptr) return std::nullopt;
  if (below == nullptr) return scaled(above->seconds, samples / above->samples);
  if (above == nullptr) return scaled(below->seconds, samples / below->samples);
  if (below->samples == above->samples) return below->seconds;
  return between(below->seconds, above->seconds, (samples - below->samples) / (above->samples - below->samples));
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
