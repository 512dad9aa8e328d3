#pragma once

#include <memory>
#include <vector>

#include "nn/operator_module.hpp"

namespace pptrain {

/// Runs the operators of a layer, forward in their order and backward against it. A value lives
/// until nothing reads it any more; from F to B only what the operators need is kept
/// (`kept_values`).
class OperatorLayer final : public LayerModule {
 public:
  /// `operators`: those of `list`, one by one or fused. `parameters`: of the layer, in the
  /// context's store. `make` makes the modules.
  OperatorLayer(const OperatorList& list, const std::vector<FusedOperator>& operators,
                const std::vector<std::size_t>& parameters, LayerContext& context,
                const OperatorFactory& make = make_operator);

  /// From now on the input is kept too: who makes the layer again begins with it.
  void keep_input() {
    if (list_.input) kept_[*list_.input] = true;
  }

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  void plan_forward(const std::vector<FusedOperator>& operators);
  void plan_backward(const std::vector<FusedOperator>& operators, Recompute recompute);

  OperatorList list_;
  std::vector<std::unique_ptr<OperatorModule>> modules_;
  std::vector<bool> kept_;
  std::vector<std::vector<ValueIndex>> last_forward_;   ///< values that nothing reads behind an
                                                        ///< operator's F
  std::vector<std::vector<ValueIndex>> last_backward_;  ///< values that nothing reads behind an
                                                        ///< operator's B
  std::vector<std::vector<ValueIndex>> last_gradient_;  ///< gradients that nothing reads behind an
                                                        ///< operator's B
};

}  // namespace pptrain
