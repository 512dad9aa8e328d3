#include "nn/divided_linear.hpp"

namespace pptrain {

Tensor gather_columns(const LayerContext& context, std::size_t rows, const std::vector<Interval>& parts,
                      const std::function<void(const Matrix& own)>& fill) {
  const auto columns = static_cast<std::size_t>(parts.back().end);
  Tensor result(context.arena, rows, columns);
  if (parts.size() == 1) {
    fill(result);
    return result;
  }
  // The members' columns one behind the other, so that each lies in one piece.
  Tensor pieces(context.arena, rows, columns);
  const auto piece = [&](const Interval& part) {
    return Matrix(pieces.f32() + rows * static_cast<std::size_t>(part.begin), rows,
                  static_cast<std::size_t>(part.size()));
  };
  std::vector<Interval> slices;
  for (const Interval& part : parts) {
    slices.push_back({part.begin * static_cast<std::int64_t>(rows), part.end * static_cast<std::int64_t>(rows)});
  }
  fill(piece(parts[static_cast<std::size_t>(context.tensor_group.rank())]));
  context.tensor_group.all_gather(pieces.f32(), slices);
  for (const Interval& part : parts) {
    context.backend.kernels.convert(piece(part), result.matrix().columns_from(static_cast<std::size_t>(part.begin),
                                                                              static_cast<std::size_t>(part.size())));
  }
  return result;
}

Matrix DividedLinear::own_inputs(const Matrix& x) const {
  if (!by_rows()) return x;
  const Interval part = context_.part(input_axis());
  return x.columns_from(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size()));
}

void DividedLinear::forward(const Matrix& x, const Matrix& y) const {
  // Of partial sums the first member's have the bias.
  const bool adds_bias = !by_rows() || context_.tensor_group.rank() == 0;
  Linear(context_, weight_).forward(own_inputs(x), y, adds_bias ? context_.parameters.weight(bias_) : nullptr);
  if (by_rows()) context_.tensor_group.all_reduce_sum(y.f32(), y.size());
}

Tensor DividedLinear::backward_input(const Matrix& dy) const {
  const Linear linear(context_, weight_);
  if (by_rows()) {
    return gather_columns(context_, dy.rows, context_.parts(input_axis()),
                          [&](const Matrix& own) { linear.backward_input(dy, own); });
  }
  Tensor dx(context_.arena, dy.rows, context_.parameters.parameters()[weight_].columns);
  linear.backward_input(dy, dx);
  context_.tensor_group.all_reduce_sum(dx.f32(), dx.size());
  return dx;
}

void DividedLinear::backward_weight(const Matrix& dy, const Matrix& x) const {
  Linear(context_, weight_).backward_weight(dy, own_inputs(x), context_.parameters.adding(bias_));
}

}  // namespace pptrain
