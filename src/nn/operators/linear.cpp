#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Columns of the rows that hold a result. Products of a narrow type are fast on devices whose
/// matrix units load 16 bytes at once only where every row begins at a multiple of them; GPT-2's
/// vocabulary is odd.
std::size_t padded_columns(std::size_t columns, DType type) {
  const std::size_t together = type == DType::f32 ? 1 : 16 / size_of(type);
  return (columns + together - 1) / together * together;
}

/// y = x W^T + b. R rows, I inputs and O outputs of this member.
class LinearModule final : public OperatorModule {
 public:
  LinearModule(const op::Linear& kind, OperatorPlace place)
      : OperatorModule(std::move(place)),
        kind_(kind),
        is_given_alone_(has_narrow_gradient(list(), input())) {}

  void forward(Batch& batch, Pass& pass) override {
    const std::size_t width = columns(output());
    const DType type = type_of(value(output()).element);
    pass.values[output()] = Tensor(arena(), rows(batch, output()),
                                   kind_.padded ? padded_columns(width, type) : width, type);
    if (kind_.padded) pass.parts[output()].columns = width;
    GemmOptions options;
    // The bias is in the partial sums of the first member.
    const bool adds_bias =
        kind_.bias && (kind_.division != WeightDivision::rows || group().rank() == 0);
    if (adds_bias) options.bias = weight(1);
    if (fused().activated) {
      pass.values[*fused().activated] = new_value(batch, *fused().activated);
      options.gelu = pass.values[*fused().activated];
    }
    Tensor copy;
    gemm().multiply(Transpose::no, as_factor(pass.matrix(input()), copy), Transpose::yes, factor(),
                    pass.matrix(output()), options);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    narrow_gradient(pass);
    const Matrix dy = pass.gradients[output()].matrix;
    if (fused().before_activation) {
      backward_activation(batch, pass, dy);
    } else {
      add_product(batch, pass, dy);
    }
    if (units_are_shared()) sum_shared(pass);
  }

  void backward_weight(const Batch& /*batch*/, Pass& pass) override {
    Tensor x;
    gemm().multiply(Transpose::yes, pass.gradients[output()].matrix, Transpose::no,
                    as_factor(pass.matrix(input()), x), store().gradient_matrix(parameter(0)),
                    {.accumulate = store().accumulates(parameter(0)),
                     .bias_gradient = kind_.bias ? store().adding(parameter(1)) : nullptr});
  }
  bool weight_reads_gradient() const override { return true; }

 private:
  Gemm& gemm() const { return context().backend.gemm; }
  /// The weight, and another factor of it, in the type of this product.
  Matrix factor() const {
    return kind_.full ? store().weight_matrix(parameter(0)) : store().compute_matrix(parameter(0));
  }
  Matrix as_factor(const Matrix& x, Tensor& copy) const {
    return kind_.full ? as_type(DType::f32, x, copy) : as_compute(x, copy);
  }

  /// The gradient of the result becomes a copy in the type of this product, where it has another
  /// one: B and W both multiply it, and nothing else reads it.
  void narrow_gradient(Pass& pass) const {
    Gradient& dy = pass.gradients[output()];
    if (dy.converted != nullptr && !kind_.full) {
      dy = {dy.converted, *dy.converted, nullptr};
      return;
    }
    Tensor copy;
    as_factor(dy.matrix, copy);
    if (copy) dy = make_gradient(std::move(copy));
  }

  /// The gradient of the input, added to what others have given of it.
  void add_product(const Batch& batch, Pass& pass, const Matrix& dy) const {
    if (reads_samples()) return;  // nobody asks for their gradient
    const Matrix w = factor();
    Gradient& sum = pass.gradients[input()];
    if (sum && sum.is_own() && sum.matrix.type == DType::f32) {
      sum.converted = nullptr;
      gemm().multiply(Transpose::no, dy, Transpose::no, w, sum.matrix, {.accumulate = true});
      return;
    }
    Tensor dx = is_given_alone_ && group().size() == 1 ? new_value(batch, input())
                                                       : new_gradient(batch, input());
    gemm().multiply(Transpose::no, dy, Transpose::no, w, dx);
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

  /// Makes du and once more the input of a product whose input is gelu(u).
  void backward_activation(const Batch& batch, Pass& pass, const Matrix& dy) const {
    const ValueIndex u = *fused().before_activation;
    Tensor du = new_gradient(batch, u);
    pass.values[input()] = new_value(batch, input());
    gemm().multiply(Transpose::no, dy, Transpose::no, factor(), du,
                    {.gelu = pass.values[input()], .gelu_input = pass.matrix(u)});
    add_gradient(pass, u, make_gradient(std::move(du)));
  }

  const AxisDivision& divided() const { return value(output()).divided; }

  /// Whether members hold equal units of the weight: key heads that several members' query heads
  /// share.
  bool units_are_shared() const {
    if (divided().sharing == 1) return false;
    std::int64_t end = 0;
    for (const Interval& part : context().parts(divided().axis)) {
      if (divided().units(part).begin < end) return true;
      end = divided().units(part).end;
    }
    return false;
  }

  /// A shared unit's gradient becomes the sum over those who hold it, so that their weights stay
  /// equal. Gradients of inputs have gone before, from what each member has itself.
  void sum_shared(Pass& pass) const {
    const Matrix own = pass.gradients[output()].matrix;
    const Interval units = divided().units(part(output()));
    Tensor all(arena(), own.rows, static_cast<std::size_t>(value(output()).columns));
    kernels().fill_zero(all.f32(), all.size());
    const Matrix mine = all.matrix().columns_from(
        static_cast<std::size_t>(units.begin * divided().unit), own.columns);
    kernels().convert(own, mine);
    group().all_reduce_sum(all.f32(), all.size());
    Tensor summed(arena(), own.rows, own.columns, own.type);
    kernels().convert(mine, summed);
    pass.gradients[output()] = make_gradient(std::move(summed));
  }

  op::Linear kind_;
  bool is_given_alone_;  ///< whether the gradient of the input is this product's alone
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Linear& kind, OperatorPlace place) {
  return std::make_unique<LinearModule>(kind, std::move(place));
}

}  // namespace pptrain
