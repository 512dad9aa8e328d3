#include "model/graph/image_layers.hpp"

#include <cmath>
#include <numeric>

namespace pptrain {
namespace {

constexpr double momentum = 0.1;  // of running averages, as in torch
/// Narrower blocks are not divided: a member would have less than a vector of channels.
constexpr std::int64_t fewest_divided_channels = 16;

/// The deviation of initial weights: torch's Linear has uniform ones up to 1 / sqrt(inputs).
double uniform_deviation(std::int64_t inputs) {
  return 1.0 / std::sqrt(3.0 * static_cast<double>(inputs));
}

ValueIndex product(LayerGraph& g, const std::string& name, ValueIndex x,
                   LayerGraph::LinearShape shape) {
  shape.bias = true;
  shape.deviation = uniform_deviation(g.value(x).columns);
  return g.linear(name, x, shape);
}

/// The port as one row.
ValueIndex row(LayerGraph& g, const Port& in) {
  const ValueIndex x = g.input(in);
  return in.rows > 1 ? g.flatten(x) : x;
}

}  // namespace

ValueIndex normalised(LayerGraph& g, const std::string& prefix, ValueIndex x, FeatureMap& map,
                      const LayerGraph::ConvolutionShape& shape, double epsilon) {
  map = {shape.window.out_height(), shape.out};
  return g.batch_norm(prefix + "normalization", g.convolution(prefix + "convolution", x, shape),
                      epsilon, momentum);
}

std::int64_t common_channels(const std::vector<ResidualShape>& blocks) {
  std::int64_t length = 0;
  for (const ResidualShape& block : blocks) {
    if (block.divided_channels() >= fewest_divided_channels)
      length = std::gcd(length, block.divided_channels());
  }
  return length;
}

ValueIndex residual_block(LayerGraph& g, ValueIndex x, FeatureMap& map, const ResidualShape& shape,
                          std::int64_t axis) {
  AxisDivision division;
  if (shape.divided_channels() >= fewest_divided_channels)
    division = {ShardAxis::columns, 1, shape.divided_channels() / axis};
  const auto step = [&](const std::string& name, ValueIndex from, FeatureMap& of,
                        const LayerGraph::ConvolutionShape& convolution) {
    return normalised(g, name + ".", from, of, convolution, shape.epsilon);
  };
  const auto window = [](const FeatureMap& of, std::int64_t kernel, std::int64_t stride) {
    return of.window(kernel, stride, kernel / 2);
  };
  ValueIndex shortcut = x;
  FeatureMap beside = map;
  if (map.channels != shape.out || shape.stride != 1)
    shortcut =
        step("shortcut", x, beside, {.window = window(map, 1, shape.stride), .out = shape.out});
  ValueIndex y = x;
  if (shape.inner > 0) {
    const std::int64_t first = shape.stride_in_first ? shape.stride : 1;
    y = g.activate(step("layer.0", y, map, {.window = window(map, 1, first), .out = shape.inner}),
                   shape.inner_activation);
    y = g.activate(step("layer.1", y, map,
                        {.window = window(map, 3, shape.stride / first),
                         .out = shape.divided_channels(),
                         .columns = division}),
                   shape.inner_activation);
    y = step("layer.2", y, map, {.window = window(map, 1, 1), .out = shape.out, .rows = division});
  } else {
    y = g.activate(
        step("layer.0", y, map,
             {.window = window(map, 3, shape.stride), .out = shape.out, .columns = division}),
        shape.inner_activation);
    y = step("layer.1", y, map, {.window = window(map, 3, 1), .out = shape.out, .rows = division});
  }
  return g.activate(g.add(shortcut, y), shape.activation);
}

std::int64_t dense_units(const std::vector<DenseLayer>& layers) {
  std::int64_t units = 0;
  for (std::size_t i = 0; i < layers.size(); i += 2) units = std::gcd(units, layers[i].columns);
  return units;
}

Layer dense_pair(const std::vector<DenseLayer>& layers, std::size_t i, const Port& in,
                 std::int64_t axis, double compute_bytes) {
  const DenseLayer& first = layers[i];
  const AxisDivision division = {ShardAxis::columns, 1, first.columns / axis};
  LayerGraph g(first.name, "");
  const ValueIndex sums =
      product(g, first.name, row(g, in), {.out = first.columns, .columns = division});
  ValueIndex x = g.activate(sums, first.activation);
  if (i + 1 < layers.size()) {
    const DenseLayer& second = layers[i + 1];
    x = g.activate(product(g, second.name, x, {.out = second.columns, .rows = division}),
                   second.activation);
  } else {
    x = g.gather(g.convert(x, Element::fp32));
  }
  g.output(x);
  return g.finish(compute_bytes);
}

Layer class_output(const std::string& name, const Port& in, std::int64_t classes, ShardAxis axis,
                   double compute_bytes) {
  LayerGraph g("output", "");
  const ValueIndex x = row(g, in);
  g.loss(product(g, name, x, {.out = classes, .columns = {axis}, .wide = true}));
  return g.finish(compute_bytes);
}

}  // namespace pptrain
