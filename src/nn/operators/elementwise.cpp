// Operators that compute element by element.
#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

class ActivateModule final : public OperatorModule {
 public:
  ActivateModule(const op::Activate& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    if (fused().forward_elsewhere) return;
    Tensor out = new_value(batch, output());
    kernels().activation_forward(kind_.activation, pass.matrix(input()), out);
    pass.values[output()] = std::move(out);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    if (fused().backward_elsewhere) return;
    Tensor gradient = new_gradient(batch, input());
    Tensor again = new_value(batch, output());
    Tensor copy;
    const Matrix u = pass.matrix(input());
    kernels().activation_backward(kind_.activation, u,
                                  as_type(u.type, pass.gradients[output()].matrix, copy), gradient,
                                  again);
    pass.values[output()] = std::move(again);
    add_gradient(pass, input(), make_gradient(std::move(gradient)));
  }

 private:
  op::Activate kind_;
};

class GateModule final : public OperatorModule {
 public:
  GateModule(const op::Gate& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor out = new_value(batch, output());
    kernels().gate_forward(kind_.activation, pass.matrix(input(0)), pass.matrix(input(1)), out);
    pass.values[output()] = std::move(out);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor gate = new_gradient(batch, input(0));
    Tensor up = new_gradient(batch, input(1));
    Tensor again = new_value(batch, output());
    kernels().gate_backward({kind_.activation, pass.matrix(input(0)), pass.matrix(input(1)),
                             pass.gradients[output()].matrix, gate, up, again});
    pass.values[output()] = std::move(again);
    add_gradient(pass, input(0), make_gradient(std::move(gate)));
    add_gradient(pass, input(1), make_gradient(std::move(up)));
  }

 private:
  op::Gate kind_;
};

/// x + y + bias. Both inputs have the gradient of the sum.
class AddModule final : public OperatorModule {
 public:
  AddModule(const op::Addition& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    if (fused().forward_elsewhere) return;
    // What is added is the result of a product, which nothing else reads: the sum takes its place.
    Tensor sum = std::move(pass.values[input(1)]);
    kernels().residual_add(pass.matrix(input(0)), sum, kind_.bias ? weight(0) : nullptr, sum);
    pass.values[output()] = std::move(sum);
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const Gradient gradient = pass.gradients[output()];
    add_gradient(pass, input(0), gradient);
    add_gradient(pass, input(1), kind_.bias ? sum_into_bias(gradient) : gradient);
  }

 private:
  /// The gradient of the bias is summed here, in fp32, since products keep a narrower copy alone
  /// until W. The product whose bias it was gets that copy from the same pass over the rows.
  Gradient sum_into_bias(Gradient gradient) const {
    const Matrix d = gradient.matrix;
    float* sums = store().adding(parameter(0));
    if (context().type == DType::f32) {
      kernels().add_column_sums(d, sums);
      return gradient;
    }
    gradient.converted = std::make_shared<Tensor>(arena(), d.rows, d.columns, context().type);
    kernels().add_column_sums_and_convert(d, sums, *gradient.converted);
    return gradient;
  }

  op::Addition kind_;
};

/// Drops the same elements of the value and of its gradient.
class DropoutModule final : public OperatorModule {
 public:
  DropoutModule(const op::Dropout& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    if (batch.dropout) drop(*batch.dropout, pass.matrix(output()));
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    if (batch.dropout) drop(*batch.dropout, own_gradient(pass, output()));
  }

 private:
  void drop(const DropoutNumbers& numbers, const Matrix& x) const {
    const auto of_sample =
        static_cast<std::uint64_t>(value(output()).rows * value(output()).columns);
    const std::uint64_t first = static_cast<std::uint64_t>(numbers.first_sample) * of_sample;
    kernels().dropout(x.f32(), x.size(), {numbers.seed, kind_.stream, first, kind_.rate});
  }

  op::Dropout kind_;
};

/// Conversion to another element type; where it is the same already nothing is done. A gradient
/// keeps the type that it has.
class ConvertModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    if (type_of(value(input()).element) == type_of(value(output()).element)) {
      pass.values[output()] = std::move(pass.values[input()]);
      return;
    }
    Tensor out = new_value(batch, output());
    kernels().convert(pass.matrix(input()), out);
    pass.values[output()] = std::move(out);
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    add_gradient(pass, input(), pass.gradients[output()]);
  }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Activate& kind, OperatorPlace place) {
  return std::make_unique<ActivateModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Gate& kind, OperatorPlace place) {
  return std::make_unique<GateModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Addition& kind, OperatorPlace place) {
  return std::make_unique<AddModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Dropout& kind, OperatorPlace place) {
  return std::make_unique<DropoutModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Conversion& /*kind*/, OperatorPlace place) {
  return std::make_unique<ConvertModule>(std::move(place));
}

}  // namespace pptrain
