#include "profile/doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "model/build/check.hpp"
#include "profile/analytic.hpp"

namespace pptrain {
namespace {

constexpr double most_apart = 10.0;

bool has_rates(const DeviceKind& kind, Precision precision) {
  return kind.flops.contains(to_string(precision)) && kind.memory_bandwidth > 0.0;
}

bool same_layers(const Profile& profile, const Model& model) {
  return std::equal(profile.layers.begin(), profile.layers.end(), model.layers.begin(),
                    model.layers.end(),
                    [](const ProfileLayer& a, const Layer& b) { return a.name == b.name; });
}

/// Times of the profile over computed ones, of all layers on one device at the most samples that
/// the profile has.
std::optional<double> ratio_on(const Profile& profile, const Model& model, const DeviceKind& kind,
                               Precision precision) {
  if (!profile.has_degree(kind.name, 1)) return {};
  const Roofline roofline = roofline_of(kind, precision, "");
  double given = 0.0, computed = 0.0;
  for (int l = 0; l < profile.num_layers(); ++l) {
    double samples = 1.0;
    for (const ProfileRow& row : profile.layers[static_cast<std::size_t>(l)].rows) {
      if (row.device == kind.name && row.tensor_parallel == 1)
        samples = std::max(samples, row.samples);
    }
    given += profile.seconds(l, kind.name, 1, samples)->total();
    computed +=
        roofline_seconds(model.layers[static_cast<std::size_t>(l)].work, roofline, 1, samples)
            .total();
  }
  return computed > 0.0 ? std::optional(given / computed) : std::nullopt;
}

}  // namespace

std::vector<std::string> doubtful_times(const Profile& profile, const Config& config,
                                        const Cluster& cluster) {
  if (cluster.emulate != Emulate::no || !config.can_train_model()) return {};
  const Model model = build_model_of(config);
  if (model.name != profile.model || !same_layers(profile, model)) return {};
  std::vector<std::string> doubts;
  for (const DeviceKind* kind : used_kinds(cluster)) {
    if (!has_rates(*kind, config.training.precision)) continue;
    const std::optional<double> ratio = ratio_on(profile, model, *kind, config.training.precision);
    if (!ratio || (*ratio<most_apart&& * ratio> 1.0 / most_apart)) continue;
    doubts.push_back(
        fmt::format("the profile has layers on {} take {:.2g} times what their FLOP and the "
                    "cluster's rates come to; is "
                    "it of this model, precision and kind of device?",
                    kind->name, *ratio));
  }
  return doubts;
}

}  // namespace pptrain
