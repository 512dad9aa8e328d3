// Parts of samples: ports, which are taken apart behind a boundary and put together before it, or a
// row.
#include "nn/operators/modules.hpp"
#include "nn/operators/sample_rows.hpp"

namespace pptrain {
namespace {

class SplitModule final : public OperatorModule {
 public:
  SplitModule(const op::Split& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), first_(static_cast<std::size_t>(kind.first)) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor port = new_value(batch, output());
    if (batch.samples > 0)
      kernels().convert(port_of(batch, pass.matrix(input())), by_sample(port, batch.samples));
    pass.values[output()] = std::move(port);
  }
  /// The gradients of all ports together are that of the input; it is zero where nobody has asked
  /// for a port's.
  void backward_input(const Batch& batch, Pass& pass) override {
    Gradient& whole = pass.gradients[input()];
    if (!whole) {
      whole = make_gradient(new_gradient(batch, input()));
      arena().device().fill(whole.matrix.f32(), 0, whole.matrix.size() * sizeof(float));
    }
    const Gradient own = std::move(pass.gradients[output()]);
    if (own && batch.samples > 0) {
      kernels().convert(by_sample(own.matrix, batch.samples), port_of(batch, whole.matrix));
    }
  }

 private:
  Matrix port_of(const Batch& batch, const Matrix& all) const {
    const std::size_t size = rows(batch, output()) / batch.samples * columns(output());
    return by_sample(all, batch.samples).columns_from(first_, size);
  }

  std::size_t first_;
};

class JoinModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& batch, Pass& pass) override {
    Tensor all = new_value(batch, output());
    std::size_t first = 0;
    for (const ValueIndex v : op().inputs) {
      if (batch.samples == 0) break;
      const Matrix port = by_sample(pass.matrix(v), batch.samples);
      kernels().convert(port, all.matrix().columns_from(first, port.columns));
      first += port.columns;
    }
    pass.values[output()] = std::move(all);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    const Matrix all = pass.gradients[output()].matrix;
    std::size_t first = 0;
    for (const ValueIndex v : op().inputs) {
      Tensor gradient = new_gradient(batch, v);
      if (batch.samples > 0) {
        const Matrix port = by_sample(gradient, batch.samples);
        kernels().convert(all.columns_from(first, port.columns), port);
        first += port.columns;
      }
      add_gradient(pass, v, make_gradient(std::move(gradient)));
    }
  }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Split& kind, OperatorPlace place) {
  return std::make_unique<SplitModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Join& /*kind*/, OperatorPlace place) {
  return std::make_unique<JoinModule>(std::move(place));
}

}  // namespace pptrain
