#include "kernels/experts.hpp"
#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Which experts each row goes to, on every member alike.
class RouterModule final : public OperatorModule {
 public:
  RouterModule(const op::Router& kind, OperatorPlace place) : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor choice = new_value(batch, output());
    choose_experts(pass.matrix(input()), kind_.normalised, choice);
    pass.values[output()] = std::move(choice);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dlogits = new_gradient(batch, input());
    choose_experts_backward(pass.matrix(input()), pass.matrix(output()), kind_.normalised,
                            pass.gradients[output()].matrix, dlogits);
    add_gradient(pass, input(), make_gradient(std::move(dlogits)));
  }

 private:
  op::Router kind_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Router& kind, OperatorPlace place) {
  return std::make_unique<RouterModule>(kind, std::move(place));
}

}  // namespace pptrain
