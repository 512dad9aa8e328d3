#include "nn/dense.hpp"

namespace pptrain {

/// R rows, I inputs, O' outputs before GELU: those of this member where columns are divided.
struct DenseLayer::State final : Saved {
  Tensor take_input() override { return std::move(input); }
  std::vector<Tensor*> kept() override { return {&input, &product}; }

  Tensor input;     // (R, I) fp32, kept until W; none of the first layer
  Tensor product;   // (R, O'): before GELU
  Tensor gradient;  // (R, O') of it, from B to W
};

DenseLayer::DenseLayer(LayerContext& context, const std::vector<std::size_t>& parameters)
    : context_(context), linear_(context, parameters[0], parameters[1]) {}

Matrix DenseLayer::multiplied(const Batch& /*batch*/, const Tensor& input) const { return input; }

Tensor DenseLayer::input_gradient(const Matrix& gradient) const { return linear_.backward_input(gradient); }

/// gelu of the product, whole and in fp32.
Tensor DenseLayer::activated(const Tensor& product) const {
  const auto fill = [&](const Matrix& own) {
    if (product.matrix().type == DType::f32)
      return context_.backend.kernels.activation_forward(Activation::gelu_tanh, product, own);
    Tensor narrow(context_.arena, product.rows(), product.columns(), product.matrix().type);
    context_.backend.kernels.activation_forward(Activation::gelu_tanh, product, narrow);
    context_.backend.kernels.convert(narrow, own);
  };
  if (!linear_.by_rows()) {
    return gather_columns(context_, product.rows(), context_.parts(ShardAxis::columns), fill);
  }
  Tensor output(context_.arena, product.rows(), product.columns());
  fill(output);
  return output;
}

Tensor DenseLayer::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  auto state = std::make_unique<State>();
  state->input = std::move(input);
  const Matrix x = multiplied(batch, state->input);
  Tensor product(context_.arena, x.rows, linear_.outputs());
  {
    Tensor copy;
    linear_.forward(as_activation(context_, x, copy), product);
  }
  if (context_.type == DType::f32) {
    state->product = std::move(product);
  } else {
    as_activation(context_, product, state->product);
  }
  Tensor output = activated(state->product);
  if (saved != nullptr) *saved = std::move(state);
  return output;
}

Tensor DenseLayer::backward_input(const Batch& /*batch*/, Tensor gradient, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  Matrix own = gradient;
  if (!linear_.by_rows()) {
    const Interval part = context_.part(ShardAxis::columns);
    own = own.columns_from(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size()));
  }
  s.gradient = Tensor(context_.arena, own.rows, own.columns, context_.type);
  Tensor copy;
  context_.backend.kernels.activation_backward(Activation::gelu_tanh, s.product, as_activation(context_, own, copy),
                                               s.gradient, s.product);
  s.product.reset();
  return input_gradient(s.gradient);
}

void DenseLayer::backward_weight(const Batch& batch, Saved& saved) {
  auto& s = static_cast<State&>(saved);
  Tensor copy;
  linear_.backward_weight(s.gradient, as_activation(context_, multiplied(batch, s.input), copy));
}

Matrix DenseInput::multiplied(const Batch& batch, const Tensor& /*input*/) const {
  return {const_cast<float*>(batch.features), context().rows(batch), static_cast<std::size_t>(context().model.inputs)};
}

Tensor DenseInput::input_gradient(const Matrix& /*gradient*/) const { return {}; }

}  // namespace pptrain
