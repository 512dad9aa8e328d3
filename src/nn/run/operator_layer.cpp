#include "nn/run/operator_layer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/folds/kept_values.hpp"

namespace pptrain {

OperatorLayer::OperatorLayer(const OperatorList& list, const std::vector<FusedOperator>& operators,
                             const std::vector<std::size_t>& parameters, LayerContext& context,
                             const OperatorFactory& make)
    : list_(list) {
  for (std::size_t i = 0; i < operators.size(); ++i) {
    modules_.push_back(make({context, list_, operators[i], i, parameters}));
  }
  kept_ = kept_values(list_, context.recompute);
  plan_forward(operators);
  plan_backward(operators, context.recompute);
}

void OperatorLayer::plan_forward(const std::vector<FusedOperator>& operators) {
  last_forward_.resize(operators.size());
  for (ValueIndex v = 0; v < list_.values.size(); ++v) {
    if (list_.output == v) continue;
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      std::vector<ValueIndex> reads = operators[i].forward_reads();
      for (ValueIndex& read : reads) read = holder_of(list_, read);
      if (operators[i].op.output == v || std::find(reads.begin(), reads.end(), v) != reads.end())
        last = i;
    }
    if (last) last_forward_[*last].push_back(v);
  }
}

void OperatorLayer::plan_backward(const std::vector<FusedOperator>& operators,
                                  Recompute recompute) {
  last_backward_.resize(operators.size());
  last_gradient_.resize(operators.size());
  std::vector<bool> read_by_weight(list_.values.size(), false);
  std::vector<bool> placed(list_.values.size(), false);
  std::vector<bool> made(list_.values.size(), false);
  if (list_.input) made[*list_.input] = true;  // its gradient is the layer's result
  for (const FusedOperator& fused : operators) {
    for (const ValueIndex v : needs_of(fused.op, list_, recompute).backward_weight) {
      read_by_weight[holder_of(list_, v)] = true;
    }
  }
  // B runs against the order: the first operator that reads a value is the last one there.
  for (std::size_t i = 0; i < operators.size(); ++i) {
    for (const ValueIndex read : needs_of(operators[i].op, list_, recompute).backward_input) {
      const ValueIndex v = holder_of(list_, read);
      if (!placed[v] && !read_by_weight[v]) last_backward_[i].push_back(v);
      placed[v] = true;
    }
    const std::optional<ValueIndex> result = operators[i].op.output;
    if (!result || made[*result]) continue;
    made[*result] = true;
    if (!modules_[i]->weight_reads_gradient()) last_gradient_[i].push_back(*result);
  }
}

Tensor OperatorLayer::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  auto pass = std::make_unique<Pass>(list_.values.size(), modules_.size(), list_.input);
  if (list_.input) pass->values[*list_.input] = std::move(input);
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    modules_[i]->forward(batch, *pass);
    for (const ValueIndex v : last_forward_[i]) {
      if (saved == nullptr || !kept_[v]) pass->values[v].reset();
    }
  }
  Tensor output = list_.output ? std::move(pass->values[*list_.output]) : Tensor();
  if (saved != nullptr) *saved = std::move(pass);
  return output;
}

Tensor OperatorLayer::backward_input(const Batch& batch, Tensor gradient, Saved& saved) {
  auto& pass = static_cast<Pass&>(saved);
  if (list_.output) pass.gradients[*list_.output] = make_gradient(std::move(gradient));
  for (std::size_t i = modules_.size(); i-- > 0;) {
    modules_[i]->backward_input(batch, pass);
    for (const ValueIndex v : last_backward_[i]) pass.values[v].reset();
    for (const ValueIndex v : last_gradient_[i]) pass.gradients[v] = {};
  }
  if (!list_.input) return {};
  Gradient result = std::move(pass.gradients[*list_.input]);
  PPTRAIN_ASSERT(result.is_own(), "the gradient of the input is read by others");
  return std::move(*result.owner);
}

void OperatorLayer::backward_weight(const Batch& batch, Saved& saved) {
  auto& pass = static_cast<Pass&>(saved);
  for (std::size_t i = modules_.size(); i-- > 0;) modules_[i]->backward_weight(batch, pass);
  pass.clear();
}

}  // namespace pptrain
