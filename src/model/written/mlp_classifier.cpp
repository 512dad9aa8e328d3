#include <fmt/format.h>

#include <cmath>

#include "model/graph/layer_graph.hpp"
#include "model/written/trainable.hpp"

namespace pptrain {
namespace {

/// A product with bias in fp32, divided by columns or, in a graph's second list, by rows.
struct DividedProduct {
  std::int64_t in;
  std::int64_t out;
  ShardAxis columns;
  ShardAxis rows;
  double deviation;

  ValueIndex by_columns(LayerGraph& g, ValueIndex x) const {
    return g.linear("", x,
                    {.out = out,
                     .columns = {columns},
                     .bias = true,
                     .wide = true,
                     .deviation = deviation,
                     .row_axis = rows});
  }
  ValueIndex by_rows(LayerGraph& g, ValueIndex x) const {
    return g.linear("", x, {.out = out, .rows = {rows}, .bias = true, .wide = true});
  }
};

/// GELU of a product, whole and in fp32.
ValueIndex activated(LayerGraph& g, ValueIndex product) {
  const ValueIndex x = g.activate(g.convert(product, Element::compute), Activation::gelu_tanh);
  return g.gather(g.convert(x, Element::fp32));
}

/// He et al., "Delving deep into rectifiers", 2015: keeps the scale of activations from layer to
/// layer.
double he_deviation(std::int64_t in) { return std::sqrt(2.0 / static_cast<double>(in)); }

Layer dense_layer(std::int64_t index, std::int64_t in, std::int64_t out, double compute_bytes) {
  const std::string name = fmt::format("features.{}", index);
  const DividedProduct product = {in, out, ShardAxis::columns,
                                  index == 0 ? ShardAxis::inputs : ShardAxis::columns,
                                  he_deviation(in)};
  LayerGraph g(name, name);
  const auto begin = [&] { return index == 0 ? g.features(in) : g.input({1, in}); };
  g.output(activated(g, product.by_columns(g, begin())));
  g.begin_division(WeightDivision::rows);
  g.output(activated(g, product.by_rows(g, begin())));
  return g.finish(compute_bytes);
}

Layer classifier_layer(std::int64_t in, std::int64_t classes, double compute_bytes) {
  const DividedProduct product = {in, classes, ShardAxis::classes, ShardAxis::columns,
                                  std::sqrt(1.0 / static_cast<double>(in))};
  LayerGraph g("classifier", "classifier");
  g.loss(product.by_columns(g, g.input({1, in})));
  g.begin_division(WeightDivision::rows);
  g.loss(product.by_rows(g, g.input({1, in})));
  Layer layer = g.finish(compute_bytes);
  // The logits: what would have to be summed if the weights were divided by rows (docs/cost.md,
  // patterns).
  layer.output_bytes = 4.0 * static_cast<double>(classes);
  return layer;
}

}  // namespace

Model build_mlp_classifier(const ModelConfig& config, const TrainingConfig& training) {
  const double compute_bytes = element_bytes(training.precision);
  Model model;
  model.name = config.name;
  model.sample = {1, config.input_size, config.classes};
  model.axes = {{ShardAxis::columns, config.hidden_size},
                {ShardAxis::classes, config.classes},
                {ShardAxis::inputs, config.input_size}};
  for (std::int64_t i = 0; i < config.layers; ++i) {
    model.layers.push_back(dense_layer(i, i == 0 ? config.input_size : config.hidden_size,
                                       config.hidden_size, compute_bytes));
  }
  model.layers.push_back(classifier_layer(config.hidden_size, config.classes, compute_bytes));
  return model;
}

}  // namespace pptrain
