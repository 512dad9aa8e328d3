#include <fmt/format.h>

#include <array>

#include "model/transformer.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {
namespace {

constexpr double bottom_width = 9.0;  // AMP, appendix: "bottom width 9"
constexpr double latent = 512.0;      // the authors' script
constexpr double head_count = 4.0;    // Jiang et al., TransGAN, 2021
constexpr double window = 18.0;       // the authors' script: attention within windows of 18 x 18
constexpr int layers_per_stage = 12;

/// Hidden size of the stages, each with twice the side of the one before.
constexpr std::array<double, 6> widths = {1024.0, 1024.0, 1024.0, 256.0, 64.0, 16.0};
/// Entries of the list before each stage from the second on: enlarging, positions, reshaping.
constexpr std::array<int, 6> entries_before = {0, 4, 2, 6, 7, 7};

double side_of(std::size_t stage) { return bottom_width * static_cast<double>(1 << stage); }
double elements_of(std::size_t stage) { return side_of(stage) * side_of(stage) * widths[stage]; }

/// An entry of the list that reads the old feature map and writes the new one.
LayerDescription reshape(const std::string& name, double in, double out, double parameters, double e) {
  LayerBuilder builder(name, e);
  builder.elementwise({in + out, in + out, 1, 1, Share::whole});
  builder.layer().parameters = parameters;
  builder.layer().output_bytes = e * out;
  return builder.layer();
}

LayerDescription transgan_layer(const std::string& name, std::size_t stage, double e) {
  const double tokens = side_of(stage) * side_of(stage);
  const double hidden = widths[stage];
  const double span = std::min(tokens, window * window);
  return transformer_layer(name, {tokens, hidden, head_count, 4.0 * hidden, span}, e);
}

void add_stages(ModelDescription& model, double e) {
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    for (int i = 0; i < entries_before[stage]; ++i) {
      const double before = i == 0 ? elements_of(stage - 1) : elements_of(stage);
      const double positions = i == 0 ? elements_of(stage) : 0.0;
      model.layers.push_back(
          reshape(fmt::format("enlarge.{}.{}", stage + 1, i), before, elements_of(stage), positions, e));
    }
    if (stage != 0 && stage != widths.size() - 1) continue;  // AMP leaves the stages between without layers
    for (int i = 0; i < layers_per_stage; ++i) {
      model.layers.push_back(transgan_layer(fmt::format("stage.{}.{}", stage + 1, i), stage, e));
    }
  }
}

}  // namespace

ModelDescription amp_transgan(Precision precision) {
  // AMP, section 4.3 and tables 10, 11: a list of 56 of which 4 to 15 (hidden size 1024) and 42 to
  // 53 (hidden size 16) are transformer layers. What the other entries do is the authors' code's.
  const double e = element_bytes(precision);
  ModelDescription model;
  model.precision = precision;
  model.tensor_parallel_degrees = dividing_degrees(static_cast<std::int64_t>(head_count));
  LayerBuilder input("input", e);
  input.product(linear(1.0, latent, elements_of(0)));
  input.layer().parameters = (latent + 1.0) * elements_of(0);
  input.layer().output_bytes = e * elements_of(0);
  input.layer().stored_bytes = e * latent;
  model.layers.push_back(input.layer());
  model.layers.push_back(reshape("reshape", elements_of(0), elements_of(0), 0.0, e));
  model.layers.push_back(reshape("positions", elements_of(0), elements_of(0), elements_of(0), e));
  add_stages(model, e);
  const double last = elements_of(widths.size() - 1);
  const double pixels = side_of(widths.size() - 1) * side_of(widths.size() - 1);
  model.layers.push_back(reshape("image", last, last, 0.0, e));
  LayerBuilder colours("colours", e);
  colours.product(linear(pixels, widths.back(), 3.0));
  colours.layer().parameters = 3.0 * widths.back() + 3.0;
  colours.layer().output_bytes = 3.0 * e * pixels;
  colours.layer().stored_bytes = e * last;
  model.layers.push_back(colours.layer());
  model.layers.push_back(reshape("loss", 3.0 * pixels, 0.0, 0.0, e));
  return model;
}

}  // namespace pptrain
