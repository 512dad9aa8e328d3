#pragma once

#include "nn/layer.hpp"

namespace pptrain {

/// y = x W^T with W (out, in): the three products of a linear layer over a context's parameters.
/// x (R, in), y and dy (R, out).
class Linear {
 public:
  Linear(LayerContext& context, std::size_t weight) : context_(context), weight_(weight) {}

  /// `gelu`, where it has data, gets gelu(y).
  void forward(const Matrix& x, const Matrix& y, const float* bias = nullptr, const Matrix& gelu = {}) const {
    context_.backend.gemm.multiply(Transpose::no, x, Transpose::yes, context_.parameters.compute_matrix(weight_), y,
                                   {.bias = bias, .gelu = gelu});
  }
  void backward_input(const Matrix& dy, const Matrix& dx) const {
    context_.backend.gemm.multiply(Transpose::no, dy, Transpose::no, context_.parameters.compute_matrix(weight_), dx);
  }
  /// Of a layer whose x is gelu(u): du instead of dx, and x once more in `gelu`.
  void backward_gelu_input(const Matrix& dy, const Matrix& u, const Matrix& du, const Matrix& gelu) const {
    context_.backend.gemm.multiply(Transpose::no, dy, Transpose::no, context_.parameters.compute_matrix(weight_), du,
                                   {.gelu = gelu, .gelu_input = u});
  }
  /// `bias_gradient`, where there is one, gets the sum of dy's rows added.
  void backward_weight(const Matrix& dy, const Matrix& x, float* bias_gradient = nullptr) const {
    context_.backend.gemm.multiply(
        Transpose::yes, dy, Transpose::no, x, context_.parameters.gradient_matrix(weight_),
        {.accumulate = context_.parameters.accumulates(weight_), .bias_gradient = bias_gradient});
  }

 private:
  LayerContext& context_;
  std::size_t weight_;
};

/// A matrix in the context's activation type: itself, or a converted copy held by `copy`.
inline Matrix as_activation(const LayerContext& context, const Matrix& x, Tensor& copy) {
  if (context.type == DType::f32) return x;
  copy = Tensor(context.arena, x.rows, x.columns, context.type);
  context.backend.kernels.convert(x, copy);
  return copy;
}

}  // namespace pptrain
