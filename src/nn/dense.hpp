#pragma once

#include <vector>

#include "nn/divided_linear.hpp"

namespace pptrain {

/// y = gelu(x W^T + b), a layer of a classifier's features. Divided by columns over a tensor-parallel group, the
/// members gather each other's outputs; by rows, they sum them.
class DenseLayer : public LayerModule {
 public:
  /// parameters: weight, bias.
  DenseLayer(LayerContext& context, const std::vector<std::size_t>& parameters);

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 protected:
  /// x (R, I) fp32: what the layer multiplies, which for the first one is the samples themselves.
  virtual Matrix multiplied(const Batch& batch, const Tensor& input) const;
  /// The gradient of the input from that of what GELU is applied to; the first layer has none.
  virtual Tensor input_gradient(const Matrix& gradient) const;

  LayerContext& context() const { return context_; }

 private:
  struct State;
  Tensor activated(const Tensor& product) const;

  LayerContext& context_;
  DividedLinear linear_;
};

/// The first layer: its input are the features of the samples.
class DenseInput final : public DenseLayer {
 public:
  using DenseLayer::DenseLayer;

 protected:
  Matrix multiplied(const Batch& batch, const Tensor& input) const override;
  Tensor input_gradient(const Matrix& gradient) const override;
};

}  // namespace pptrain
