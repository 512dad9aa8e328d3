// Operators of feature maps that compute each sample by itself.
#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

class ConvolutionModule final : public OperatorModule {
 public:
  ConvolutionModule(const op::Convolution& kind, OperatorPlace place)
      : OperatorModule(std::move(place)),
        form_{kind.window, static_cast<std::int64_t>(columns(input())),
              static_cast<std::int64_t>(columns(output())),
              feature_maps().convolutions().factors(context().type)},
        bias_(kind.bias) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor y = new_value(batch, output());
    if (batch.samples > 0) {
      feature_maps().convolutions().forward(form_, pass.matrix(input()), factor(),
                                            bias_ ? weight(1) : nullptr, y);
    }
    pass.values[output()] = std::move(y);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    if (reads_samples()) return;
    Tensor dx = new_gradient(batch, input());
    if (batch.samples > 0) {
      feature_maps().convolutions().backward_input(form_, pass.gradients[output()].matrix, factor(),
                                                   dx);
    }
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

  void backward_weight(const Batch& batch, Pass& pass) override {
    const Matrix dy = pass.gradients[output()].matrix;
    if (bias_) kernels().add_column_sums(dy, store().adding(parameter(1)));
    if (batch.samples == 0) {
      store().adding(parameter(0));
    } else if (store().accumulates(parameter(0))) {
      Tensor own(arena(), 1, static_cast<std::size_t>(form_.weights()));
      feature_maps().convolutions().backward_weight(form_, pass.matrix(input()), dy, own.f32());
      kernels().add(own.f32(), store().gradient_matrix(parameter(0)).f32(), own.size());
    } else {
      feature_maps().convolutions().backward_weight(form_, pass.matrix(input()), dy,
                                                    store().gradient_matrix(parameter(0)).f32());
    }
  }
  bool weight_reads_gradient() const override { return true; }

 private:
  /// The weight in the type of factors.
  Matrix factor() const {
    return form_.factors == DType::f32 ? store().weight_matrix(parameter(0))
                                       : store().compute_matrix(parameter(0));
  }

  ConvolutionForm form_;
  bool bias_;
};

class PoolModule final : public OperatorModule {
 public:
  PoolModule(const op::Pool& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor y = new_value(batch, output());
    if (kind_.kind == PoolKind::average) {
      if (batch.samples > 0)
        feature_maps().average_pool_forward(kind_.window, pass.matrix(input()), y);
    } else {
      std::vector<Tensor>& s = statistics(pass);
      s.clear();
      s.emplace_back(arena(), y.rows(), y.columns());
      if (batch.samples > 0)
        feature_maps().max_pool_forward(kind_.window, pass.matrix(input()), y, chosen(s));
    }
    pass.values[output()] = std::move(y);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    if (reads_samples()) return;
    Tensor dx = new_gradient(batch, input());
    const Matrix dy = pass.gradients[output()].matrix;
    if (batch.samples > 0 && kind_.kind == PoolKind::average) {
      feature_maps().average_pool_backward(kind_.window, dy, dx);
    } else if (batch.samples > 0) {
      feature_maps().max_pool_backward(kind_.window, dy, chosen(statistics(pass)), dx);
    }
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

 private:
  /// Places are as long as the numbers that tensors are made for.
  static std::int32_t* chosen(const std::vector<Tensor>& s) {
    static_assert(sizeof(std::int32_t) == sizeof(float));
    return static_cast<std::int32_t*>(s.front().matrix().data);
  }

  op::Pool kind_;
};

class FlattenModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    Tensor y = new_value(batch, output());
    if (batch.samples > 0) feature_maps().flatten(batch.samples, pass.matrix(input()), y, false);
    pass.values[output()] = std::move(y);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dx = new_gradient(batch, input());
    if (batch.samples > 0)
      feature_maps().flatten(batch.samples, dx, pass.gradients[output()].matrix, true);
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Convolution& kind, OperatorPlace place) {
  return std::make_unique<ConvolutionModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Pool& kind, OperatorPlace place) {
  return std::make_unique<PoolModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Flatten& /*kind*/, OperatorPlace place) {
  return std::make_unique<FlattenModule>(std::move(place));
}

}  // namespace pptrain
