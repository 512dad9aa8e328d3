// What draws images from a few numbers: rows of their own, larger maps, pixels in other orders, and
// the loss.
#include "nn/operators/modules.hpp"
#include "nn/operators/sample_rows.hpp"

namespace pptrain {
namespace {

class ReshapeModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    Tensor y = new_value(batch, output());
    copy(batch, pass.matrix(input()), y);
    pass.values[output()] = std::move(y);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dx = new_gradient(batch, input());
    copy(batch, pass.gradients[output()].matrix, dx);
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

 private:
  void copy(const Batch& batch, const Matrix& from, const Matrix& to) const {
    if (batch.samples > 0)
      kernels().convert(by_sample(from, batch.samples), by_sample(to, batch.samples));
  }
};

class PlacesModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    Tensor y = new_value(batch, output());
    if (batch.samples > 0) {
      const Matrix all = by_sample(y, batch.samples);
      const Matrix places = {const_cast<float*>(weight(0)), batch.samples, all.columns, 0,
                             DType::f32};
      kernels().residual_add(by_sample(pass.matrix(input()), batch.samples), places, nullptr, all);
    }
    pass.values[output()] = std::move(y);
  }
  /// Hands on the gradient of the result, which is that of the input too.
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    add_gradient(pass, input(), pass.gradients[output()]);
  }
  void backward_weight(const Batch& batch, Pass& pass) override {
    float* places = store().adding(parameter(0));
    if (batch.samples > 0) {
      kernels().add_column_sums(by_sample(pass.gradients[output()].matrix, batch.samples), places);
    }
  }
  bool weight_reads_gradient() const override { return true; }
};

class EnlargeModule final : public OperatorModule {
 public:
  EnlargeModule(const op::Enlarge& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor y = new_value(batch, output());
    if (batch.samples > 0) feature_maps().enlarge(kind_.kind, kind_.map, pass.matrix(input()), y);
    pass.values[output()] = std::move(y);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dx = new_gradient(batch, input());
    if (batch.samples > 0) {
      feature_maps().enlarge_backward(kind_.kind, kind_.map, pass.gradients[output()].matrix, dx);
    }
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

 private:
  op::Enlarge kind_;
};

class TilesModule final : public OperatorModule {
 public:
  TilesModule(const op::Tiles& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor y = new_value(batch, output());
    order(batch, pass.matrix(input()), y, kind_.back);
    pass.values[output()] = std::move(y);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dx = new_gradient(batch, input());
    order(batch, pass.gradients[output()].matrix, dx, !kind_.back);
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

 private:
  void order(const Batch& batch, const Matrix& from, const Matrix& to, bool back) const {
    if (batch.samples > 0) feature_maps().order_tiles(kind_.map, kind_.side, from, to, back);
  }

  op::Tiles kind_;
};

class SquareLossModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    Matrix counted = pass.matrix(input());
    counted.rows = batch.counted_rows(counted.rows);
    if (batch.loss == nullptr || counted.rows == 0) return;
    feature_maps().square_loss(counted, batch.drawings, 1.0 / numbers(), batch.loss);
  }

  /// The numbers become their own gradient.
  void backward_input(const Batch& batch, Pass& pass) override {
    const Matrix x = pass.matrix(input());
    feature_maps().square_loss_gradient(x, batch.drawings,
                                        batch.loss_scale / static_cast<float>(numbers()));
    Gradient gradient = make_gradient(std::move(pass.values[input()]));
    gradient.matrix = x;
    add_gradient(pass, input(), std::move(gradient));
  }

 private:
  /// Pixels times channels of a sample, over which the loss is a mean.
  double numbers() const {
    return static_cast<double>(value(input()).rows * value(input()).columns);
  }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Reshape& /*kind*/, OperatorPlace place) {
  return std::make_unique<ReshapeModule>(std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Places& /*kind*/, OperatorPlace place) {
  return std::make_unique<PlacesModule>(std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Enlarge& kind, OperatorPlace place) {
  return std::make_unique<EnlargeModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Tiles& kind, OperatorPlace place) {
  return std::make_unique<TilesModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::SquareLoss& /*kind*/, OperatorPlace place) {
  return std::make_unique<SquareLossModule>(std::move(place));
}

}  // namespace pptrain
