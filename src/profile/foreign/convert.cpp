#include "profile/foreign/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/names.hpp"
#include "model/axes.hpp"
#include "profile/analytic.hpp"
#include "profile/layer_sizes.hpp"

namespace pptrain {
namespace {

constexpr double adam_state = 8.0;  ///< bytes of a parameter: two averages in fp32

LayerSeconds sum(const LayerSeconds& a, const LayerSeconds& b) {
  return {a.forward + b.forward, a.backward_input + b.backward_input,
          a.backward_weight + b.backward_weight};
}

/// Joins the last two layers of a planner that has the final norm apart, which pptrain has with the
/// output.
ForeignProfile with_norm_joined(ForeignProfile from) {
  for (ForeignTimes& times : from.times) {
    const LayerSeconds last = times.layers.back();
    times.layers.pop_back();
    times.layers.back() = sum(times.layers.back(), last);
  }
  if (from.sizes.empty()) return from;
  const ForeignSizes last = from.sizes.back();
  from.sizes.pop_back();
  from.sizes.back().parameters += last.parameters;
  for (const auto& [degree, bytes] : last.stored_bytes)
    from.sizes.back().stored_bytes[degree] += bytes;
  return from;
}

/// Bytes that a member holds: as the files say, else as they are computed.
std::optional<LayerBytes> bytes_of(const ForeignSizes* sizes, int degree, double samples,
                                   std::optional<LayerBytes> computed) {
  if (sizes == nullptr || !sizes->stored_bytes.contains(degree)) return computed;
  LayerBytes bytes = computed.value_or(LayerBytes{});
  bytes.stored = bytes.deferred = samples * sizes->stored_bytes.at(degree);
  bytes.recomputed = std::min(bytes.recomputed, bytes.stored);
  return bytes;
}

/// Adds the rows of layer `number`, each with its bytes by `computed(degree, samples)` or the
/// files.
template <class Computed>
void add_rows(const ForeignProfile& from, const ForeignKinds& kinds, std::size_t number,
              const Computed& computed, ProfileLayer& layer) {
  const ForeignSizes* sizes = from.sizes.empty() ? nullptr : &from.sizes[number];
  for (const ForeignTimes& times : from.times) {
    ProfileRow row = {kinds.at(times.device), times.tensor_parallel, times.samples,
                      times.layers[number], false};
    row.bytes = bytes_of(sizes, row.tensor_parallel, row.samples,
                         computed(row.tensor_parallel, row.samples));
    layer.rows.push_back(std::move(row));
  }
}

/// Shares the optimizer's step over the whole model out by parameters, as it does the same for each
/// of them.
void add_steps(const ForeignProfile& from, const ForeignKinds& kinds, Profile& profile) {
  const double all =
      std::accumulate(profile.layers.begin(), profile.layers.end(), 0.0,
                      [](double sum, const ProfileLayer& layer) { return sum + layer.parameters; });
  if (all == 0.0) return;
  for (ProfileLayer& layer : profile.layers) {
    for (const auto& [key, seconds] : from.step_seconds)
      layer.update_seconds[{kinds.at(key.first), key.second}] = seconds * layer.parameters / all;
  }
}

/// Text on where the figures are from, for people.
std::string source_of(const ForeignProfile& from, const std::string& sizes) {
  return fmt::format(
      "profile \"{}\" of {}: {}; the collectives of a degree are in its times, so no "
      "tensor-parallel "
      "all-reduce is added; {}",
      from.model, from.planner, from.backward, sizes);
}

}  // namespace

std::vector<std::string> take_execution(const ForeignProfile& from, Config& config) {
  std::vector<std::string> taken;
  if (!config.places.contains("profile.like")) {
    config.profile.like = from.runtime;
    taken.push_back(fmt::format("memory as {} needs it", from.runtime));
  }
  if (config.places.contains("training.precision")) return taken;
  const bool is_short = from.element_bytes > 0.0 && from.element_bytes < 4.0;
  config.training.precision = is_short ? Precision::bf16 : Precision::fp32;
  taken.push_back(fmt::format("{}, as {}", to_string(config.training.precision),
                              from.element_bytes > 0.0
                                  ? fmt::format("its weights have {} bytes", from.element_bytes)
                                  : "the files name no precision"));
  return taken;
}

Profile converted_profile(const ForeignProfile& from, const ForeignKinds& kinds,
                          const Config& config, const Model& model) {
  const ForeignProfile joined =
      from.num_layers() > model.layers.size() ? with_norm_joined(from) : from;
  const RuntimeTraits runtime = runtime_of(config);
  Profile profile;
  profile.model = model.name;
  profile.source = source_of(
      from, fmt::format("sizes of {} in {}", model.name, to_string(config.training.precision)));
  profile.bytes_per_parameter = bytes_per_parameter(config, model);
  profile.axes = axes_of(model);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    LayerSizes sizes(config, runtime, model, l);
    ProfileLayer layer = sizes.layer();
    layer.tensor_parallel_allreduce_bytes = 0.0;  // the times have them
    add_rows(
        joined, kinds, l,
        [&](int degree, double samples) {
          return runtime.own ? std::nullopt : std::optional(sizes.bytes(degree, samples));
        },
        layer);
    if (!joined.sizes.empty() && joined.sizes[l].stored_bytes.contains(1))
      layer.stored_bytes = joined.sizes[l].stored_bytes.at(1);
    profile.layers.push_back(std::move(layer));
  }
  add_steps(from, kinds, profile);
  return profile;
}

Profile converted_profile(const ForeignProfile& from, const ForeignKinds& kinds,
                          const Config& config) {
  Profile profile;
  profile.model = from.model;
  profile.source = source_of(from, "sizes of its own files, with the state of Adam");
  profile.bytes_per_parameter =
      bytes_per_parameter(runtime_of(config), config.training.precision, adam_state);
  for (std::size_t l = 0; l < from.num_layers(); ++l) {
    const ForeignSizes& sizes = from.sizes[l];
    ProfileLayer layer;
    layer.name = fmt::format("layer.{}", l);
    layer.parameters = sizes.parameters;
    layer.output_bytes = l + 1 < from.num_layers() ? sizes.output_bytes : 0.0;  // nothing follows
    layer.stored_bytes = sizes.stored_bytes.at(1);
    layer.repeated = l > 0 && l + 1 < from.num_layers();
    add_rows(
        from, kinds, l, [](int, double) { return std::nullopt; }, layer);
    profile.layers.push_back(std::move(layer));
  }
  add_steps(from, kinds, profile);
  return profile;
}

}  // namespace pptrain
