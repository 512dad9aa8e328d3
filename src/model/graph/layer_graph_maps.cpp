// Operators of feature maps.
#include <cmath>

#include "base/error.hpp"
#include "model/graph/layer_graph.hpp"

namespace pptrain {
namespace {

void check_window(const Window& window, const Value& map) {
  PPTRAIN_ASSERT(window.fits() && window.pixels() == map.rows, "a window over {} x {} pixels of {}",
                 window.height, window.width, map.rows);
}

/// He et al., "Delving deep into rectifiers", 2015, for the backward pass: keeps the scale of
/// gradients.
double he_deviation(std::int64_t out, const Window& window) {
  return std::sqrt(2.0 / static_cast<double>(out * window.area()));
}

}  // namespace

ValueIndex LayerGraph::convolution(const std::string& name, ValueIndex x,
                                   const ConvolutionShape& shape) {
  const bool by_columns = shape.columns.axis != ShardAxis::none,
             by_rows = shape.rows.axis != ShardAxis::none;
  const Window& window = shape.window;
  if (by_columns) enter(x);
  const Value from = value(x);
  check_window(window, from);
  PPTRAIN_ASSERT(!by_rows || (!shape.bias && !from.is_whole()), "{}: a convolution divided by rows",
                 name);
  ParameterSpec weight = {
      .name = prefix_ + name + ".weight",
      .shape = {shape.out, from.columns * window.area()},
      .deviation = he_deviation(shape.out, window),
      .file_shape = {shape.out, from.columns, window.kernel_height, window.kernel_width}};
  const AxisDivision& divided = by_rows ? shape.rows : shape.columns;
  weight.axis = divided.axis;
  weight.dimension = by_rows ? 1 : 0;
  weight.unit = divided.unit * (by_rows ? window.area() : 1);
  std::vector<std::size_t> parameters = {parameter(weight)};
  if (shape.bias) {
    parameters.push_back(parameter({.name = prefix_ + name + ".bias",
                                    .shape = {shape.out},
                                    .axis = divided.axis,
                                    .unit = divided.unit,
                                    .initial = Initial::zeros}));
  }
  const ValueIndex y = make({window.out_pixels(), shape.out, Element::fp32, shape.columns});
  const WeightDivision division = by_rows      ? WeightDivision::rows
                                  : by_columns ? WeightDivision::columns
                                               : WeightDivision::none;
  put(op::Convolution{window, shape.bias, division}, {x}, y, parameters);
  return by_rows ? in_place(op::Sum{}, y) : y;
}

ValueIndex LayerGraph::batch_norm(const std::string& name, ValueIndex x, double epsilon,
                                  double momentum) {
  const Value from = value(x);
  const std::int64_t channels = from.columns;
  const std::string full = prefix_ + name;
  const auto buffer = [&](const char* what, std::vector<std::int64_t> shape, Initial initial) {
    ParameterSpec spec = {.name = full + what, .shape = std::move(shape), .initial = initial};
    spec.buffer = true;
    layer_.buffers.push_back(spec);
  };
  buffer(".running_mean", {channels}, Initial::zeros);
  buffer(".running_var", {channels}, Initial::ones);
  buffer(".num_batches_tracked", {}, Initial::zeros);
  const auto of_channels = [&](const char* what, Initial initial) {
    return parameter({.name = full + what,
                      .shape = {channels},
                      .axis = from.divided.axis,
                      .unit = from.divided.unit,
                      .initial = initial});
  };
  const ValueIndex y = make(from);
  put(op::BatchNorm{full, epsilon, momentum}, {x}, y,
      {of_channels(".weight", Initial::ones), of_channels(".bias", Initial::zeros)});
  return y;
}

ValueIndex LayerGraph::pool(ValueIndex x, PoolKind kind, const Window& window) {
  check_window(window, value(x));
  PPTRAIN_ASSERT(kind == PoolKind::max || window.padding == 0, "the mean of {} pixels of padding",
                 window.padding);
  const ValueIndex y = make({window.out_pixels(), value(x).columns, Element::fp32, {}});
  put(op::Pool{kind, window}, {x}, y);
  return y;
}

ValueIndex LayerGraph::flatten(ValueIndex x) {
  const ValueIndex y = make({1, value(x).rows * value(x).columns, Element::fp32, {}});
  put(op::Flatten{}, {x}, y);
  return y;
}

ValueIndex LayerGraph::enlarge(ValueIndex x, EnlargeKind kind, const MapSize& map) {
  const Value from = value(x);
  const std::int64_t channels = kind == EnlargeKind::shuffle ? from.columns / 4 : from.columns;
  PPTRAIN_ASSERT(map.pixels() == from.rows && channels > 0, "{} pixels of {} channels", from.rows,
                 from.columns);
  const ValueIndex y = make({4 * from.rows, channels, Element::fp32, {}});
  put(op::Enlarge{kind, map}, {x}, y);
  return y;
}

ValueIndex LayerGraph::tiles(ValueIndex x, const MapSize& map, std::int64_t side, bool back) {
  PPTRAIN_ASSERT(map.pixels() == value(x).rows && map.height % side == 0 && map.width % side == 0,
                 "squares of {} x {} in {} rows", side, side, value(x).rows);
  const ValueIndex y = make(value(x));
  put(op::Tiles{map, side, back}, {x}, y);
  return y;
}

ValueIndex LayerGraph::reshape(ValueIndex x, std::int64_t rows) {
  const Value from = value(x);
  PPTRAIN_ASSERT(from.is_whole() && from.rows * from.columns % rows == 0, "{} x {} in {} rows",
                 from.rows, from.columns, rows);
  const ValueIndex y = make({rows, from.rows * from.columns / rows, from.element, {}});
  put(op::Reshape{}, {x}, y);
  return y;
}

ValueIndex LayerGraph::places(const std::string& name, ValueIndex x) {
  const Value from = value(x);
  const std::size_t table = parameter(
      {.name = prefix_ + name, .shape = {from.rows, from.columns}, .deviation = deviation_});
  const ValueIndex y = make(from);
  put(op::Places{}, {x}, y, {table});
  return y;
}

void LayerGraph::square_loss(ValueIndex x) { put(op::SquareLoss{}, {x}, {}); }

}  // namespace pptrain
