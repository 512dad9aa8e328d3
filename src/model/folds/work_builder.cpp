#include "model/folds/work_builder.hpp"

#include <utility>

namespace pptrain {
namespace {

/// Positions that a token attends to on average: all up to its own, or the last `window` of them
/// (0: all).
double causal_span(double tokens, double window) {
  if (window <= 0.0 || window >= tokens) return (tokens + 1.0) / 2.0;
  return (window * (window + 1.0) / 2.0 + (tokens - window) * window) / tokens;
}

/// The matrices of F; nothing where they are not known.
std::optional<ProductShape> forward_shape(const Product& p) {
  using Dimension = ProductShape::Dimension;
  if (p.rows == 0.0) return {};
  ProductShape shape = {p.rows, p.out, p.in};
  if (p.division == WeightDivision::columns) shape.divided = Dimension::columns;
  if (p.division == WeightDivision::rows) shape.divided = Dimension::inner;
  return shape;
}

/// Sizes of the product that gives the gradient of the input: the weights change sides.
std::optional<ProductShape> input_gradient_shape(std::optional<ProductShape> shape) {
  using Dimension = ProductShape::Dimension;
  if (!shape) return shape;
  std::swap(shape->columns, shape->inner);
  if (shape->divided)
    shape->divided = shape->divided == Dimension::columns ? Dimension::inner : Dimension::columns;
  return shape;
}

/// Sizes of the product that gives the gradient of the weights, a sum over all rows.
std::optional<ProductShape> weight_gradient_shape(const Product& p) {
  using Dimension = ProductShape::Dimension;
  if (p.rows == 0.0) return {};
  ProductShape shape = {p.out, p.in, p.rows, Dimension::inner};
  if (p.division == WeightDivision::columns) shape.divided = Dimension::rows;
  if (p.division == WeightDivision::rows) shape.divided = Dimension::columns;
  return shape;
}

}  // namespace

Product linear(double rows, double in, double out, WeightDivision division) {
  return {2.0 * rows * in * out, rows * in, rows * out, in * out, division, 1, rows, in, out};
}

void WorkBuilder::product(const Product& p) {
  Kernel kernel;
  kernel.flop = p.flop;
  kernel.launches = p.launches;
  kernel.share = p.division == WeightDivision::none ? Share::whole : Share::divided;
  (p.division == WeightDivision::rows ? kernel.shard_bytes : kernel.bytes) +=
      element_bytes_ * p.inputs;
  (p.division == WeightDivision::columns ? kernel.shard_bytes : kernel.bytes) +=
      element_bytes_ * p.outputs;
  kernel.weight_bytes = element_bytes_ * p.weights;
  kernel.product = forward_shape(p);
  forward(kernel);
  kernel.product = input_gradient_shape(kernel.product);
  backward_input(kernel);
  kernel.product = weight_gradient_shape(p);
  kernel.weight_bytes *= 2.0;  // the sum over micro-batches is read and written
  backward_weight(kernel);
}

void WorkBuilder::elementwise(const Elementwise& work) {
  const auto kernel = [&](double elements, int launches) {
    Kernel k;
    k.share = work.share;
    k.launches = launches;
    (work.share == Share::whole ? k.bytes : k.shard_bytes) = element_bytes_ * elements;
    return k;
  };
  if (work.forward_launches > 0) forward(kernel(work.forward, work.forward_launches));
  if (work.backward_launches > 0) backward_input(kernel(work.backward, work.backward_launches));
}

void WorkBuilder::attention(const op::SelfAttention& attention, double tokens, double keys,
                            double sequences) {
  const double query_columns = static_cast<double>(attention.heads * attention.head_size);
  const double key_columns = static_cast<double>(attention.key_heads * attention.head_size);
  Kernel kernel;
  kernel.share = Share::divided;
  const double span =
      attention.causal ? causal_span(tokens, static_cast<double>(attention.window)) : keys;
  kernel.flop = sequences * 2.0 * 2.0 * query_columns * tokens * span;
  kernel.shard_bytes =
      sequences * element_bytes_ * 2.0 * (tokens * query_columns + keys * key_columns);  // q,
                                                                                         // output;
                                                                                         // k, v
  kernel.attention = {sequences * static_cast<double>(attention.heads) * tokens * keys,
                      static_cast<double>(attention.head_size), element_bytes_, attention.causal,
                      sequences * 2.0 * keys * key_columns};
  forward(kernel);
  kernel.flop *= 2.0;
  kernel.shard_bytes *= 2.0;  // and their gradients
  backward_input(kernel);
}

void WorkBuilder::embedding(double tokens, double columns) {
  elementwise({5.0 * tokens * columns, 0.0, 2, 0, Share::whole});
  backward_weight({0.0, element_bytes_ * 4.0 * tokens * columns, 0.0, 0.0, 2, Share::whole});
}

void WorkBuilder::loss(double rows, double classes) {
  Kernel kernel;
  kernel.is_loss = true;
  kernel.shard_bytes = 4.0 * 3.0 * rows * classes;
  kernel.launches = 3;
  kernel.share = Share::divided;
  forward(kernel);
  kernel.shard_bytes = 4.0 * 2.0 * rows * classes;
  kernel.launches = 1;
  backward_input(kernel);
}

}  // namespace pptrain
