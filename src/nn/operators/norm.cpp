#include <utility>

#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Normalises rows, or every head of them. Where a sum stands before, it is computed with it.
class NormModule final : public OperatorModule {
 public:
  NormModule(const op::Norm& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    const auto& sum = fused().sum;
    if (sum) pass.values[input()] = new_value(batch, input());
    Tensor normalised = new_value(batch, output());
    const Matrix x = in_rows(pass.matrix(input()));
    std::vector<Tensor>& s = statistics(pass);
    s.clear();
    for (int i = 0; i < (has_offset() ? 2 : 1); ++i) s.emplace_back(arena(), 1, x.rows);
    const float* bias = sum && sum->bias ? store().weight(parameter_of_layer(*sum->bias)) : nullptr;
    kernels().residual_norm_forward({kind_.form, sum ? pass.matrix(sum->x) : x,
                                     sum ? pass.matrix(sum->y) : Matrix(), bias, x, weight(0),
                                     offset(), in_rows(normalised), mean(s), rstd(s)});
    pass.values[output()] = std::move(normalised);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    const Matrix x = in_rows(pass.matrix(input()));
    // The products behind need the result for the gradients of their weights, which those of heads
    // do not feed.
    const bool again = !of_heads() && makes_again();
    Tensor normalised = again ? new_value(batch, output()) : Tensor();
    const Gradient given = std::exchange(pass.gradients[input()], {});
    const Matrix residual = given ? given.matrix : Matrix();
    // The sum takes the place of what others have given, unless one of them still reads it.
    const bool in_place = given && given.is_own();
    Gradient dx = in_place ? given : make_gradient(new_gradient(batch, input()));
    float* dgain = store().adding(parameter(0));
    float* doffset = has_offset() ? store().adding(parameter(1)) : nullptr;
    Tensor partial;
    if (of_heads() && group().size() > 1) partial = zeros(dgain, doffset);
    kernels().norm_backward({kind_.form, in_rows(pass.gradients[output()].matrix), x,
                             mean(statistics(pass)), rstd(statistics(pass)), weight(0), offset(),
                             residual, in_rows(dx.matrix), dgain, doffset,
                             again ? Matrix(normalised) : Matrix()});
    if (partial) add_partial(partial);
    pass.gradients[input()] = std::move(dx);
    if (again) pass.values[output()] = std::move(normalised);
  }

 private:
  bool has_offset() const { return kind_.form.kind == NormKind::layer; }
  bool of_heads() const { return kind_.width != value(input()).columns; }
  const float* offset() const { return has_offset() ? weight(1) : nullptr; }
  float* mean(const std::vector<Tensor>& s) const {
    return has_offset() ? s.front().f32() : nullptr;
  }
  float* rstd(const std::vector<Tensor>& s) const { return s.back().f32(); }
  /// A row for every group of columns that is normalised.
  Matrix in_rows(const Matrix& x) const {
    if (!of_heads() || x.data == nullptr) return x;
    const auto width = static_cast<std::size_t>(kind_.width);
    return {x.data, x.size() / width, width, x.type};
  }

  /// Members normalise different heads with one gain: its gradient is the sum of theirs. Room for
  /// this member's.
  Tensor zeros(float*& dgain, float*& doffset) const {
    const auto width = static_cast<std::size_t>(kind_.width);
    Tensor partial(arena(), 2, width);
    kernels().fill_zero(partial.f32(), partial.size());
    dgain = partial.f32();
    if (doffset != nullptr) doffset = partial.f32() + width;
    return partial;
  }
  void add_partial(const Tensor& partial) const {
    group().all_reduce_sum(partial.f32(), partial.size());
    for (std::size_t i = 0; i < (has_offset() ? 2U : 1U); ++i) {
      kernels().add(partial.f32() + i * partial.columns(), store().adding(parameter(i)),
                    partial.columns());
    }
  }

  op::Norm kind_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Norm& kind, OperatorPlace place) {
  return std::make_unique<NormModule>(kind, std::move(place));
}

}  // namespace pptrain
