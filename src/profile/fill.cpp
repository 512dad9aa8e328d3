#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "config/published_models.hpp"
#include "model/build/check.hpp"
#include "profile/analytic.hpp"

namespace pptrain {
namespace {

/// Scales the rows of a known kind to a missing one.
class KindFiller {
 public:
  KindFiller(Profile& profile, const DeviceKind& known, const DeviceKind& missing,
             Precision precision, const std::string& source)
      : profile_(profile),
        known_(known.name),
        missing_(missing.name),
        known_roofline_(roofline_of(known, precision, source)),
        missing_roofline_(roofline_of(missing, precision, source)),
        model_(published_layers(precision)) {}

  std::string fill() {
    for (std::size_t l = 0; l < profile_.layers.size(); ++l) {
      std::vector<ProfileRow>& rows = profile_.layers[l].rows;
      std::vector<ProfileRow> added;
      const auto is_missing = [this](const ProfileRow& row) { return row.device == missing_; };
      if (std::any_of(rows.begin(), rows.end(), is_missing)) continue;
      for (const ProfileRow& row : rows) {
        if (row.device == known_) added.push_back(scaled(row, l));
      }
      rows.insert(rows.end(), added.begin(), added.end());
    }
    return fmt::format(
        "{}: the seconds of {} times {}", missing_, known_,
        model_ ? "the ratio of their roofline times, layer by layer"
               : fmt::format("{:.3g}, the ratio of their peak FLOP rates", flop_ratio()));
  }

 private:
  /// The published model that the profile is of, with the same layers; nothing: it is of none.
  std::optional<Model> published_layers(Precision precision) const {
    if (published_model(profile_.model) == nullptr) return {};
    Config config;
    config.model.name = profile_.model;
    take_published(*published_model(profile_.model), config.model);
    take_published(*published_model(profile_.model), config.training);
    config.training.precision = precision;
    Model model = build_model(config.model, config.training, profile_.model);
    const bool same = std::equal(
        model.layers.begin(), model.layers.end(), profile_.layers.begin(), profile_.layers.end(),
        [](const Layer& a, const ProfileLayer& b) { return a.name == b.name; });
    return same ? std::optional(std::move(model)) : std::nullopt;
  }

  double flop_ratio() const {
    return known_roofline_.flop_per_second / missing_roofline_.flop_per_second;
  }

  ProfileRow scaled(const ProfileRow& row, std::size_t layer) const {
    LayerSeconds ratio = {flop_ratio(), flop_ratio(), flop_ratio()};
    if (model_) {
      const Work& work = model_->layers[layer].work;
      const LayerSeconds from =
          roofline_seconds(work, known_roofline_, row.tensor_parallel, row.samples);
      const LayerSeconds to =
          roofline_seconds(work, missing_roofline_, row.tensor_parallel, row.samples);
      const auto scale = [](double numerator, double denominator, double otherwise) {
        return denominator > 0.0 ? numerator / denominator : otherwise;
      };
      ratio = {scale(to.forward, from.forward, ratio.forward),
               scale(to.backward_input, from.backward_input, ratio.backward_input),
               scale(to.backward_weight, from.backward_weight, ratio.backward_weight)};
    }
    ProfileRow result = row;
    result.device = missing_;
    result.seconds.forward *= ratio.forward;
    result.seconds.backward_input *= ratio.backward_input;
    result.seconds.backward_weight *= ratio.backward_weight;
    return result;
  }

  Profile& profile_;
  std::string known_;
  std::string missing_;
  Roofline known_roofline_;
  Roofline missing_roofline_;
  std::optional<Model> model_;
};

}  // namespace

std::vector<std::string> fill_missing_kinds(Profile& profile, const Cluster& cluster,
                                            Precision precision, const std::string& source) {
  const DeviceKind* known = nullptr;
  for (const DeviceKind& kind : cluster.device_kinds) {
    if (known == nullptr && profile.has_degree(kind.name, 1)) known = &kind;
  }
  std::vector<std::string> notes;
  for (const DeviceKind* kind : used_kinds(cluster)) {
    if (profile.has_degree(kind->name, 1)) continue;
    if (known == nullptr) {
      throw_bad_input(
          {source, "no device kind of the cluster is in the profile",
           fmt::format("the rows of \"{}\" cannot be scaled from another kind", kind->name),
           "add a [[device]] for a kind of the profile, used or not, with its rates"});
    }
    notes.push_back(KindFiller(profile, *known, *kind, precision, source).fill());
  }
  return notes;
}

}  // namespace pptrain
