// What lies between a router and the stream: rows sorted by their experts, products of each expert with its rows, and
// the way back. These modules follow pointers: the device is the host.
#include "kernels/experts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// What the modules have in common: the router's result is the last input. Where experts are divided a member has the
/// rows of its own ones; where no row goes to these it has one row of zeros, so that no tensor is empty.
class ExpertModule : public OperatorModule {
 public:
  ExpertModule(const ExpertForm& form, OperatorPlace place) : OperatorModule(std::move(place)), form_(form) {}

 protected:
  std::size_t chosen() const { return static_cast<std::size_t>(form_.chosen); }
  Matrix choice(const Pass& pass) const { return pass.matrix(op().inputs.back()); }
  /// The experts that this member has.
  Interval own() const { return form_.divided ? context().part(ShardAxis::experts) : Interval{0, form_.experts}; }
  ExpertOrder order(const Pass& pass) const { return {choice(pass), own()}; }

  /// A tensor for a value of dispatched rows, or for its gradient.
  Tensor new_dispatched(const ExpertOrder& places, ValueIndex v) const {
    return dispatched(places, v, type_of(value(v).element));
  }
  Tensor new_dispatched_gradient(const ExpertOrder& places, ValueIndex v) const {
    return dispatched(places, v, value(v).is_whole() ? DType::f32 : type_of(value(v).element));
  }
  /// The dispatched rows of a value or gradient, without the row of zeros.
  static Matrix used(const ExpertOrder& places, const Matrix& all) { return all.rows_from(0, places.num_dispatched()); }

 private:
  Tensor dispatched(const ExpertOrder& places, ValueIndex v, DType type) const {
    Tensor tensor(arena(), std::max<std::size_t>(places.num_dispatched(), 1), columns(v), type);
    if (places.num_dispatched() == 0) std::memset(tensor.matrix().data, 0, tensor.size() * size_of(type));
    return tensor;
  }

  ExpertForm form_;
};

class DispatchModule final : public ExpertModule {
 public:
  using ExpertModule::ExpertModule;

  void forward(Batch& /*batch*/, Pass& pass) override { dispatch(order(pass), pass); }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder places = order(pass);
    Tensor dx(arena(), places.rows(), columns(input()), DType::f32);
    combine_rows(places, used(places, pass.gradients[output()].matrix), dx);
    dispatch(places, pass);
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

 private:
  void dispatch(const ExpertOrder& places, Pass& pass) const {
    Tensor rows = new_dispatched(places, output());
    dispatch_rows(places, pass.matrix(input()), used(places, rows));
    pass.values[output()] = std::move(rows);
  }
};

/// Rows of each expert times its weight. An expert without rows has a gradient of 0.
class ExpertLinearModule final : public ExpertModule {
 public:
  using ExpertModule::ExpertModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder places = order(pass);
    Tensor y = new_dispatched(places, output());
    const Matrix x = pass.matrix(input());
    for_each_expert(places, [&](std::size_t e, const Rows& rows) {
      gemm().multiply(Transpose::no, rows.of(x), Transpose::yes, store().compute_matrix(parameter(e)), rows.of(y));
    });
    pass.values[output()] = std::move(y);
  }

  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder places = order(pass);
    Tensor copy;
    const Matrix dy = as_compute(pass.gradients[output()].matrix, copy);
    Gradient& sum = pass.gradients[input()];
    const bool adds = sum && sum.is_own() && sum.matrix.type == DType::f32;
    Tensor dx = adds ? Tensor() : new_dispatched_gradient(places, input());
    const Matrix to = adds ? sum.matrix : dx.matrix();
    for_each_expert(places, [&](std::size_t e, const Rows& rows) {
      gemm().multiply(Transpose::no, rows.of(dy), Transpose::no, store().compute_matrix(parameter(e)), rows.of(to),
                      {.accumulate = adds});
    });
    if (!adds) add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

  void backward_weight(const Batch& /*batch*/, Pass& pass) override {
    Tensor copy;
    const Matrix dy = as_compute(pass.gradients[output()].matrix, copy);
    const Matrix x = pass.matrix(input());
    const ExpertOrder places = order(pass);
    for (std::int64_t e = own().begin; e < own().end; ++e) {
      const auto expert = static_cast<std::size_t>(e);
      if (places.count(expert) == 0) store().adding(parameter(expert));
    }
    for_each_expert(places, [&](std::size_t e, const Rows& rows) {
      gemm().multiply(Transpose::yes, rows.of(dy), Transpose::no, rows.of(x), store().gradient_matrix(parameter(e)),
                      {.accumulate = store().accumulates(parameter(e))});
    });
  }
  bool weight_reads_gradient() const override { return true; }

 private:
  struct Rows {
    std::size_t first, count;
    Matrix of(const Matrix& all) const { return all.rows_from(first, count); }
  };

  Gemm& gemm() const { return context().backend.gemm; }

  /// Calls `compute` for the experts of this member that have rows.
  template <class Compute>
  void for_each_expert(const ExpertOrder& places, const Compute& compute) const {
    for (std::int64_t e = own().begin; e < own().end; ++e) {
      const auto expert = static_cast<std::size_t>(e);
      if (places.count(expert) > 0) compute(expert, Rows{places.begin(expert), places.count(expert)});
    }
  }
};

/// A gate, or an activation, whose rows have weights: of dispatched rows those that the router gave them, else the
/// sigmoid of logits.
class WeightedGateModule final : public ExpertModule {
 public:
  WeightedGateModule(const op::WeightedGate& kind, OperatorPlace place)
      : ExpertModule(kind.form, std::move(place)), activation_(kind.activation) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    const Matrix gate = pass.matrix(input(0));
    Tensor out(arena(), gate.rows, gate.columns, gate.type);
    if (is_gated()) {
      kernels().gate_forward(activation_, gate, pass.matrix(input(1)), out);
    } else {
      kernels().activation_forward(activation_, gate, out);
    }
    weigh(out, weights(pass), out);
    pass.values[output()] = std::move(out);
  }

  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const std::vector<float> of_rows = weights(pass);
    // A value that every member has whole has gradients of fp32.
    Tensor converted;
    const Matrix given = as_type(pass.matrix(input(0)).type, pass.gradients[output()].matrix, converted);
    const auto like_given = [&] { return Tensor(arena(), given.rows, given.columns, given.type); };
    Tensor gate = like_given(), up = is_gated() ? like_given() : Tensor(), again = like_given();
    if (of_rows.empty()) kernels().convert(given, gate);
    weigh(given, of_rows, gate);
    if (is_gated()) {
      kernels().gate_backward(activation_, pass.matrix(input(0)), pass.matrix(input(1)), gate, gate, up, again);
    } else {
      kernels().activation_backward(activation_, pass.matrix(input(0)), gate, gate, again);
    }
    const auto rows = [&](const Matrix& all) { return all.rows_from(0, of_rows.size()); };
    add_weight_gradient(pass, row_products(rows(given), rows(again)), of_rows);
    weigh(again, of_rows, again);
    pass.values[output()] = std::move(again);
    add_gradient(pass, input(0), make_gradient(std::move(gate)));
    if (is_gated()) add_gradient(pass, input(1), make_gradient(std::move(up)));
  }

 private:
  bool are_routed() const { return chosen() > 0; }
  bool is_gated() const { return op().inputs.size() == 3; }
  ValueIndex weights_input() const { return op().inputs.back(); }

  /// out = the rows of x times their weights; behind them there may be a row of zeros. The two may be the same.
  static void weigh(const Matrix& x, const std::vector<float>& of_rows, const Matrix& out) {
    weigh_rows(x.rows_from(0, of_rows.size()), of_rows, out.rows_from(0, of_rows.size()));
  }

  std::vector<float> weights(const Pass& pass) const {
    if (are_routed()) return order(pass).weights(choice(pass));
    const Matrix logits = pass.matrix(weights_input());
    std::vector<float> result(logits.rows);
    for (std::size_t row = 0; row < logits.rows; ++row) result[row] = 1.0F / (1.0F + std::exp(-*logits.at<float>(row)));
    return result;
  }

  /// `products`: the gradients of the rows' weights, of this member's columns or experts.
  void add_weight_gradient(Pass& pass, const std::vector<float>& products, const std::vector<float>& of_rows) const {
    const Matrix of = pass.matrix(weights_input());
    Tensor gradient(arena(), of.rows, of.columns, DType::f32);
    const Matrix to = gradient;
    if (are_routed()) {
      kernels().fill_zero(to.f32(), to.size());
      const ExpertOrder places = order(pass);
      for (std::size_t row = 0; row < to.rows; ++row) {
        for (std::size_t j = 0; j < chosen(); ++j) {
          if (const auto place = places.place(row, j)) to.at<float>(row)[j] = products[*place];
        }
      }
    } else {
      for (std::size_t row = 0; row < to.rows; ++row) {
        *to.at<float>(row) = products[row] * of_rows[row] * (1.0F - of_rows[row]);
      }
    }
    add_gradient(pass, weights_input(), make_gradient(std::move(gradient)));
  }

  Activation activation_;
};

class CombineModule final : public ExpertModule {
 public:
  using ExpertModule::ExpertModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder places = order(pass);
    Tensor sums(arena(), places.rows(), columns(output()), DType::f32);
    combine_rows(places, used(places, pass.matrix(input())), sums);
    pass.values[output()] = std::move(sums);
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder places = order(pass);
    Tensor dx = new_dispatched_gradient(places, input());
    dispatch_rows(places, pass.gradients[output()].matrix, used(places, dx));
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Dispatch& kind, OperatorPlace place) {
  return std::make_unique<DispatchModule>(kind.form, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::ExpertLinear& kind, OperatorPlace place) {
  return std::make_unique<ExpertLinearModule>(kind.form, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::WeightedGate& kind, OperatorPlace place) {
  return std::make_unique<WeightedGateModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Combine& kind, OperatorPlace place) {
  return std::make_unique<CombineModule>(kind.form, std::move(place));
}

}  // namespace pptrain
