#include <fmt/format.h>

#include <cmath>

#include "model/trainable.hpp"
#include "model/transformer.hpp"

namespace pptrain {
namespace {

/// A linear layer with bias whose outputs (columns) or inputs (rows) may be divided.
std::vector<ParameterSpec> linear_parameters(const std::string& name, std::int64_t in, std::int64_t out,
                                             ShardAxis column_axis, ShardAxis row_axis, double deviation) {
  ParameterSpec weight = {name + ".weight", {out, in}, column_axis};
  weight.deviation = deviation;
  ParameterSpec bias = {name + ".bias", {out}, column_axis};
  weight.row_axis = bias.row_axis = row_axis;
  return {weight, bias};
}

/// He et al., "Delving deep into rectifiers", 2015: keeps the scale of activations from layer to layer.
double he_deviation(std::int64_t in) { return std::sqrt(2.0 / static_cast<double>(in)); }

Layer dense_layer(std::int64_t index, std::int64_t in, std::int64_t out, double element_bytes) {
  Layer layer;
  layer.name = fmt::format("features.{}", index);
  layer.kind = index == 0 ? LayerKind::dense_input : LayerKind::dense;
  layer.parameters = linear_parameters(layer.name, in, out, ShardAxis::columns,
                                       index == 0 ? ShardAxis::inputs : ShardAxis::columns, he_deviation(in));
  layer.flop_forward = 2.0 * static_cast<double>(in) * static_cast<double>(out);
  layer.flop_backward_input = index == 0 ? 0.0 : layer.flop_forward;
  layer.flop_backward_weight = layer.flop_forward;
  layer.output_bytes = 4.0 * static_cast<double>(out);
  // The input in fp32, and what GELU is applied to.
  layer.stored_bytes = (index == 0 ? 0.0 : 4.0 * static_cast<double>(in)) + element_bytes * static_cast<double>(out);
  // Divided by columns its outputs are gathered in F, half an all-reduce; in B the next layer, divided likewise,
  // all-reduces their gradient, which is charged here.
  layer.tensor_parallel_allreduce_bytes = 0.75 * layer.output_bytes;
  return layer;
}

Layer classifier_layer(std::int64_t in, std::int64_t classes) {
  Layer layer;
  layer.name = "classifier";
  layer.kind = LayerKind::classifier;
  layer.parameters = linear_parameters(layer.name, in, classes, ShardAxis::classes, ShardAxis::columns,
                                       std::sqrt(1.0 / static_cast<double>(in)));
  layer.flop_forward = 2.0 * static_cast<double>(in) * static_cast<double>(classes);
  layer.flop_backward_input = layer.flop_forward;
  layer.flop_backward_weight = layer.flop_forward;
  // The logits: what would have to be summed if the weights were divided by rows (docs/cost.md, patterns).
  layer.output_bytes = 4.0 * static_cast<double>(classes);
  layer.stored_bytes = 4.0 * static_cast<double>(in) + layer.output_bytes;
  return layer;
}

}  // namespace

Model build_mlp_classifier(const ModelConfig& config, const TrainingConfig& training) {
  const double element_bytes = training.precision == Precision::fp32 ? 4.0 : 2.0;
  Model model;
  model.name = config.name;
  model.hidden_size = config.hidden_size;
  model.sequence_length = 1;
  model.inputs = config.input_size;
  model.classes = config.classes;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    model.layers.push_back(
        dense_layer(i, i == 0 ? config.input_size : config.hidden_size, config.hidden_size, element_bytes));
  }
  model.layers.push_back(classifier_layer(config.hidden_size, config.classes));
  return model;
}

void add_mlp_work(LayerBuilder& builder, const Model& model, LayerKind kind) {
  const auto hidden = static_cast<double>(model.hidden_size);
  if (kind == LayerKind::classifier) {
    const auto classes = static_cast<double>(model.classes);
    builder.product(linear(1.0, hidden, classes, WeightDivision::columns));
    add_loss(builder, 1.0, classes);
    return;
  }
  const double in = kind == LayerKind::dense_input ? static_cast<double>(model.inputs) : hidden;
  builder.product(linear(1.0, in, hidden, WeightDivision::columns));
  if (kind == LayerKind::dense_input) builder.layer().backward_input.clear();  // nobody asks for the samples' gradient
  builder.elementwise({2.0 * hidden, 4.0 * hidden, 1, 1, Share::divided});
}

}  // namespace pptrain
