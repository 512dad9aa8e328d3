#include "nn/fusions.hpp"

#include <algorithm>

namespace pptrain {

std::vector<ValueIndex> FusedOperator::forward_reads() const {
  std::vector<ValueIndex> reads = op.inputs;
  if (sum) reads.insert(reads.end(), {sum->x, sum->y});
  return reads;
}

std::vector<FusedOperator> unfused(const OperatorList& list) {
  std::vector<FusedOperator> operators;
  for (const Operator& op : list.operators) operators.emplace_back().op = op;
  return operators;
}

namespace {

int num_readers(const OperatorList& list, ValueIndex v) {
  int readers = 0;
  for (const Operator& op : list.operators)
    readers += static_cast<int>(std::count(op.inputs.begin(), op.inputs.end(), v));
  return readers;
}

bool is_gelu(const Operator& op) {
  const auto* activate = op.as<op::Activate>();
  return activate != nullptr && activate->activation == Activation::gelu_tanh;
}

/// A norm right behind the sum that it normalises, row by row.
void fuse_norm(std::vector<FusedOperator>& operators, std::size_t i, const OperatorList& list) {
  const auto* norm = operators[i].op.as<op::Norm>();
  FusedOperator& before = operators[i - 1];
  const auto* add = before.op.as<op::Addition>();
  if (norm == nullptr || add == nullptr || before.op.output != operators[i].op.inputs.front())
    return;
  if (norm->width != list.values[*before.op.output].columns) return;
  std::optional<std::size_t> bias;
  if (add->bias) bias = before.op.parameters.front();
  operators[i].sum = FusedOperator::Sum{before.op.inputs[0], before.op.inputs[1], bias};
  before.forward_elsewhere = true;
}

/// GELU right behind a product, and right before one.
void fuse_gelu(std::vector<FusedOperator>& operators, std::size_t i, const OperatorList& list) {
  FusedOperator& gelu = operators[i];
  if (!is_gelu(gelu.op)) return;
  FusedOperator& before = operators[i - 1];
  if (before.op.as<op::Linear>() != nullptr && before.op.output == gelu.op.inputs.front()) {
    before.activated = gelu.op.output;
    gelu.forward_elsewhere = true;
  }
  if (i + 1 == operators.size() || num_readers(list, *gelu.op.output) != 1) return;
  FusedOperator& after = operators[i + 1];
  if (after.op.as<op::Linear>() == nullptr || after.op.inputs.front() != gelu.op.output) return;
  after.before_activation = gelu.op.inputs.front();
  gelu.backward_elsewhere = true;
}

}  // namespace

std::vector<FusedOperator> fused(const OperatorList& list) {
  std::vector<FusedOperator> operators = unfused(list);
  for (std::size_t i = 1; i < operators.size(); ++i) {
    fuse_norm(operators, i, list);
    fuse_gelu(operators, i, list);
  }
  return operators;
}

}  // namespace pptrain
