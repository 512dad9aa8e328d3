// Operators of feature maps.
#include <cmath>

#include "base/error.hpp"
#include "model/layer_graph.hpp"

namespace pptrain {
namespace {

void check_window(const Window& window, const Value& map) {
  PPTRAIN_ASSERT(window.fits() && window.pixels() == map.rows, "a window over {} x {} pixels of {}", window.height,
                 window.width, map.rows);
}

/// He et al., "Delving deep into rectifiers", 2015, for the backward pass: keeps the scale of gradients.
double he_deviation(std::int64_t out, const Window& window) {
  return std::sqrt(2.0 / static_cast<double>(out * window.area()));
}

}  // namespace

ValueIndex LayerGraph::convolution(const std::string& name, ValueIndex x, const Window& window, std::int64_t out,
                                   bool bias) {
  const Value from = value(x);
  check_window(window, from);
  std::vector<std::size_t> parameters = {
      parameter({.name = prefix_ + name + ".weight",
                 .shape = {out, from.columns * window.area()},
                 .deviation = he_deviation(out, window),
                 .file_shape = {out, from.columns, window.kernel_height, window.kernel_width}})};
  if (bias) {
    parameters.push_back(parameter({.name = prefix_ + name + ".bias", .shape = {out}, .initial = Initial::zeros}));
  }
  const ValueIndex y = make({window.out_pixels(), out, Element::fp32, {}});
  put(op::Convolution{window, bias}, {x}, y, parameters);
  return y;
}

ValueIndex LayerGraph::batch_norm(const std::string& name, ValueIndex x, double epsilon, double momentum) {
  const std::int64_t channels = value(x).columns;
  const std::string full = prefix_ + name;
  const auto buffer = [&](const char* what, std::vector<std::int64_t> shape, Initial initial) {
    ParameterSpec spec = {.name = full + what, .shape = std::move(shape), .initial = initial};
    spec.buffer = true;
    layer_.buffers.push_back(spec);
  };
  buffer(".running_mean", {channels}, Initial::zeros);
  buffer(".running_var", {channels}, Initial::ones);
  buffer(".num_batches_tracked", {}, Initial::zeros);
  const ValueIndex y = make(value(x));
  put(op::BatchNorm{full, epsilon, momentum}, {x}, y,
      {parameter({.name = full + ".weight", .shape = {channels}, .initial = Initial::ones}),
       parameter({.name = full + ".bias", .shape = {channels}, .initial = Initial::zeros})});
  return y;
}

ValueIndex LayerGraph::pool(ValueIndex x, PoolKind kind, const Window& window) {
  check_window(window, value(x));
  PPTRAIN_ASSERT(kind == PoolKind::max || window.padding == 0, "the mean of {} pixels of padding", window.padding);
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
  PPTRAIN_ASSERT(map.pixels() == from.rows && channels > 0, "{} pixels of {} channels", from.rows, from.columns);
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
  PPTRAIN_ASSERT(from.is_whole() && from.rows * from.columns % rows == 0, "{} x {} in {} rows", from.rows, from.columns,
                 rows);
  const ValueIndex y = make({rows, from.rows * from.columns / rows, from.element, {}});
  put(op::Reshape{}, {x}, y);
  return y;
}

ValueIndex LayerGraph::places(const std::string& name, ValueIndex x) {
  const Value from = value(x);
  const std::size_t table =
      parameter({.name = prefix_ + name, .shape = {from.rows, from.columns}, .deviation = deviation_});
  const ValueIndex y = make(from);
  put(op::Places{}, {x}, y, {table});
  return y;
}

void LayerGraph::square_loss(ValueIndex x) { put(op::SquareLoss{}, {x}, {}); }

}  // namespace pptrain
