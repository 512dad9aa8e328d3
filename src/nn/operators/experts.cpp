// What lies between a router and the stream: rows sorted by their experts, products of each expert
// with its rows, and the way back.
#include <algorithm>

#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// What the modules have in common: the router's result is the last input. Where experts are
/// divided a member has the rows of its own ones; where no row goes to these it has one row of
/// zeros, so that no tensor is empty.
class ExpertModule : public OperatorModule {
 public:
  ExpertModule(const ExpertForm& form, OperatorPlace place)
      : OperatorModule(std::move(place)), form_(form) {}

 protected:
  std::size_t chosen() const { return static_cast<std::size_t>(form_.chosen); }
  Matrix choice(const Pass& pass) const { return pass.matrix(op().inputs.back()); }
  /// The experts that this member has.
  Interval own() const {
    return form_.divided ? context().part(ShardAxis::experts) : Interval{0, form_.experts};
  }
  /// Made once for the modules of a pass, since that waits for the device.
  const ExpertOrder& order(Pass& pass) const {
    std::shared_ptr<const ExpertOrder>& order = pass.orders[op().inputs.back()];
    if (order == nullptr)
      order = std::make_shared<const ExpertOrder>(experts(), choice(pass), own(), arena());
    return *order;
  }

  /// A tensor for a value of dispatched rows, or for its gradient.
  Tensor new_dispatched(const ExpertOrder& places, ValueIndex v) const {
    return dispatched(places, v, type_of(value(v).element));
  }
  Tensor new_dispatched_gradient(const ExpertOrder& places, ValueIndex v) const {
    return dispatched(places, v, value(v).is_whole() ? DType::f32 : type_of(value(v).element));
  }
  /// The dispatched rows of a value or gradient, without the row of zeros.
  static Matrix used(const ExpertOrder& places, const Matrix& all) {
    return all.rows_from(0, places.num_dispatched());
  }

 private:
  Tensor dispatched(const ExpertOrder& places, ValueIndex v, DType type) const {
    Tensor tensor(arena(), std::max<std::size_t>(places.num_dispatched(), 1), columns(v), type);
    if (places.num_dispatched() == 0)
      arena().device().fill(tensor.matrix().data, 0, tensor.size() * size_of(type));
    return tensor;
  }

  ExpertForm form_;
};

class DispatchModule final : public ExpertModule {
 public:
  using ExpertModule::ExpertModule;

  void forward(Batch& /*batch*/, Pass& pass) override { dispatch(order(pass), pass); }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder& places = order(pass);
    Tensor dx(arena(), places.rows(), columns(input()), DType::f32);
    experts().combine(places.places(), used(places, pass.gradients[output()].matrix), dx);
    dispatch(places, pass);
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

 private:
  void dispatch(const ExpertOrder& places, Pass& pass) const {
    Tensor rows = new_dispatched(places, output());
    experts().dispatch(places.places(), pass.matrix(input()), used(places, rows));
    pass.values[output()] = std::move(rows);
  }
};

/// Rows of each expert times its weight. An expert without rows has a gradient of 0.
class ExpertLinearModule final : public ExpertModule {
 public:
  using ExpertModule::ExpertModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder& places = order(pass);
    Tensor y = new_dispatched(places, output());
    const Matrix x = pass.matrix(input());
    for_each_expert(places, [&](std::size_t e, const Rows& rows) {
      gemm().multiply(Transpose::no, rows.of(x), Transpose::yes,
                      store().compute_matrix(parameter(e)), rows.of(y));
    });
    pass.values[output()] = std::move(y);
  }

  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder& places = order(pass);
    Tensor copy;
    const Matrix dy = as_compute(pass.gradients[output()].matrix, copy);
    Gradient& sum = pass.gradients[input()];
    const bool adds = sum && sum.is_own() && sum.matrix.type == DType::f32;
    Tensor dx = adds ? Tensor() : new_dispatched_gradient(places, input());
    const Matrix to = adds ? sum.matrix : dx.matrix();
    for_each_expert(places, [&](std::size_t e, const Rows& rows) {
      gemm().multiply(Transpose::no, rows.of(dy), Transpose::no,
                      store().compute_matrix(parameter(e)), rows.of(to), {.accumulate = adds});
    });
    if (!adds) add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

  void backward_weight(const Batch& /*batch*/, Pass& pass) override {
    Tensor copy;
    const Matrix dy = as_compute(pass.gradients[output()].matrix, copy);
    const Matrix x = pass.matrix(input());
    const ExpertOrder& places = order(pass);
    for (std::int64_t e = own().begin; e < own().end; ++e) {
      if (places.count(e) == 0) store().adding(parameter(static_cast<std::size_t>(e)));
    }
    for_each_expert(places, [&](std::size_t e, const Rows& rows) {
      gemm().multiply(Transpose::yes, rows.of(dy), Transpose::no, rows.of(x),
                      store().gradient_matrix(parameter(e)),
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
      if (places.count(e) > 0)
        compute(static_cast<std::size_t>(e), Rows{places.begin(e), places.count(e)});
    }
  }
};

/// A gate, or an activation, whose rows have weights: of dispatched rows those that the router gave
/// them, else the sigmoid of logits.
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
    const RowWeights of_rows = weights(pass);
    weigh(out, of_rows, out);
    pass.values[output()] = std::move(out);
  }

  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const RowWeights of_rows = weights(pass);
    // A value that every member has whole has gradients of fp32.
    Tensor converted;
    const Matrix given =
        as_type(pass.matrix(input(0)).type, pass.gradients[output()].matrix, converted);
    const auto like_given = [&] { return Tensor(arena(), given.rows, given.columns, given.type); };
    Tensor gate = like_given(), up = is_gated() ? like_given() : Tensor(), again = like_given();
    if (of_rows.count == 0) kernels().convert(given, gate);
    weigh(given, of_rows, gate);
    if (is_gated()) {
      kernels().gate_backward(
          {activation_, pass.matrix(input(0)), pass.matrix(input(1)), gate, gate, up, again});
    } else {
      kernels().activation_backward(activation_, pass.matrix(input(0)), gate, gate, again);
    }
    add_weight_gradient(pass, given, again, of_rows);
    weigh(again, of_rows, again);
    pass.values[output()] = std::move(again);
    add_gradient(pass, input(0), make_gradient(std::move(gate)));
    if (is_gated()) add_gradient(pass, input(1), make_gradient(std::move(up)));
  }

 private:
  bool are_routed() const { return chosen() > 0; }
  bool is_gated() const { return op().inputs.size() == 3; }
  ValueIndex weights_input() const { return op().inputs.back(); }

  /// The weights of so many rows; behind them there may be a row of zeros.
  struct RowWeights {
    Tensor values;
    std::size_t count;
    Matrix of(const Matrix& all) const { return all.rows_from(0, count); }
  };

  /// out = the rows of x times their weights; the two may be the same.
  void weigh(const Matrix& x, const RowWeights& weights, const Matrix& out) const {
    if (weights.count > 0) experts().weigh(weights.of(x), weights.values.f32(), weights.of(out));
  }

  RowWeights weights(Pass& pass) const {
    const Matrix of = pass.matrix(weights_input());
    const std::size_t count = are_routed() ? order(pass).num_dispatched() : of.rows;
    RowWeights weights{Tensor(arena(), 1, std::max<std::size_t>(count, 1)), count};
    if (are_routed()) {
      experts().take_weights(order(pass).places(), of, weights.values.f32());
    } else {
      experts().sigmoid(of, weights.values.f32());
    }
    return weights;
  }

  /// Adds the gradients of the rows' weights, of this member's columns or experts: of each row the
  /// product of `given` and the value `made`, without its weight.
  void add_weight_gradient(Pass& pass, const Matrix& given, const Matrix& made,
                           const RowWeights& weights) const {
    const Tensor products(arena(), 1, std::max<std::size_t>(weights.count, 1));
    if (weights.count > 0)
      experts().row_products(weights.of(given), weights.of(made), products.f32());
    const Matrix of = pass.matrix(weights_input());
    Tensor gradient(arena(), of.rows, of.columns, DType::f32);
    if (are_routed()) {
      experts().give_weights(order(pass).places(), products.f32(), gradient);
    } else {
      experts().sigmoid_backward(products.f32(), weights.values.f32(), gradient);
    }
    add_gradient(pass, weights_input(), make_gradient(std::move(gradient)));
  }

  Activation activation_;
};

class CombineModule final : public ExpertModule {
 public:
  using ExpertModule::ExpertModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder& places = order(pass);
    Tensor sums(arena(), places.rows(), columns(output()), DType::f32);
    experts().combine(places.places(), used(places, pass.matrix(input())), sums);
    pass.values[output()] = std::move(sums);
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder& places = order(pass);
    Tensor dx = new_dispatched_gradient(places, input());
    experts().dispatch(places.places(), pass.gradients[output()].matrix, used(places, dx));
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
