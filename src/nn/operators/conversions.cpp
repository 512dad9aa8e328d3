// Conversions between the ways in which a tensor-parallel group has a value.
#include "base/error.hpp"
#include "nn/gather_columns.hpp"
#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Behind it members compute shares: backward their gradients of the whole value are summed.
class EnterModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    if (!op().in_place()) pass.parts[output()] = {input(), 0, columns(input()), {}};
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    if (group().size() > 1) {
      const Matrix gradient = own_gradient(pass, output());
      group().all_reduce_sum(gradient.f32(), gradient.size());
    }
    if (!op().in_place()) add_gradient(pass, input(), std::move(pass.gradients[output()]));
  }
};

class SumModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    const Tensor& partial = pass.values[output()];
    group().all_reduce_sum(partial.f32(), partial.size());
  }
  void backward_input(const Batch& /*batch*/, Pass& /*pass*/) override {}
};

/// Columns of a value that belong to a part of its axis, where no two parts have the same ones.
Interval columns_of(const AxisDivision& divided, Interval part) {
  PPTRAIN_ASSERT(divided.groups == 1 && divided.sharing == 1,
                 "columns that lie apart, or that members share");
  return {part.begin * divided.unit, part.end * divided.unit};
}

/// The columns of every member.
std::vector<Interval> column_parts(const AxisDivision& divided, std::vector<Interval> parts) {
  for (Interval& part : parts) part = columns_of(divided, part);
  return parts;
}

/// This member's columns of a whole matrix.
Matrix own_columns(const Matrix& whole, Interval columns) {
  return whole.columns_from(static_cast<std::size_t>(columns.begin),
                            static_cast<std::size_t>(columns.size()));
}

class GatherModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    const AxisDivision& divided = value(input()).divided;
    pass.values[output()] =
        gathered_columns(context(), column_parts(divided, context().parts(divided.axis)),
                         std::move(pass.values[input()]));
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    Gradient own = pass.gradients[output()];
    own.matrix = own_columns(own.matrix, columns_of(value(input()).divided, part(input())));
    add_gradient(pass, input(), std::move(own));
  }
};

class TakeModule final : public OperatorModule {
 public:
  using OperatorModule::OperatorModule;

  void forward(Batch& /*batch*/, Pass& pass) override {
    const Interval own = columns_of(value(output()).divided, part(output()));
    pass.parts[output()] = {
        input(), static_cast<std::size_t>(own.begin), static_cast<std::size_t>(own.size()), {}};
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    if (reads_samples()) return;
    PPTRAIN_ASSERT(pass.gradients[output()].is_own(), "columns of value {}", output());
    Tensor own = std::move(*pass.gradients[output()].owner);
    const AxisDivision& divided = value(output()).divided;
    add_gradient(
        pass, input(),
        make_gradient(gathered_columns(
            context(), column_parts(divided, context().parts(divided.axis)), std::move(own))));
  }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Enter& /*kind*/, OperatorPlace place) {
  return std::make_unique<EnterModule>(std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Sum& /*kind*/, OperatorPlace place) {
  return std::make_unique<SumModule>(std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Gather& /*kind*/, OperatorPlace place) {
  return std::make_unique<GatherModule>(std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Take& /*kind*/, OperatorPlace place) {
  return std::make_unique<TakeModule>(std::move(place));
}

}  // namespace pptrain
