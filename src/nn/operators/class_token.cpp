// A learned row before the rows of each sample.
#include "nn/operators/modules.hpp"
#include "nn/operators/sample_rows.hpp"

namespace pptrain {
namespace {

/// The elements of a parameter as the row of every sample.
Matrix for_all(const float* elements, std::size_t samples, std::size_t count) {
  return {const_cast<float*>(elements), samples, count, 0, DType::f32};
}

/// out = (class token, rows of x) + places, in every sample.
class ClassTokenModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    Tensor out = new_value(batch, output());
    if (batch.samples > 0) {
      const std::size_t n = batch.samples, width = columns(output());
      const Matrix x = by_sample(pass.matrix(input()), n), all = by_sample(out, n);
      const float *token = weight(0), *places = weight(1);
      kernels().residual_add(for_all(token, n, width), for_all(places, n, width), nullptr,
                             all.columns_from(0, width));
      kernels().residual_add(x, for_all(places + width, n, x.columns), nullptr,
                             all.columns_from(width, x.columns));
    }
    pass.values[output()] = std::move(out);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dx = new_gradient(batch, input());
    if (batch.samples > 0) {
      const Matrix rows = by_sample(dx, batch.samples);
      const Matrix all = by_sample(pass.gradients[output()].matrix, batch.samples);
      kernels().convert(all.columns_from(columns(output()), rows.columns), rows);
    }
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

  void backward_weight(const Batch& batch, Pass& pass) override {
    float *token = store().adding(parameter(0)), *places = store().adding(parameter(1));
    if (batch.samples == 0) return;
    const Matrix all = by_sample(pass.gradients[output()].matrix, batch.samples);
    kernels().add_column_sums(all.columns_from(0, columns(output())), token);
    kernels().add_column_sums(all, places);
  }
  bool weight_reads_gradient() const override { return true; }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::ClassToken& /*kind*/, OperatorPlace place) {
  return std::make_unique<ClassTokenModule>(std::move(place));
}

}  // namespace pptrain
