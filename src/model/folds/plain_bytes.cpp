#include "model/folds/plain_bytes.hpp"

#include <algorithm>
#include <vector>

#include "model/folds/kept_values.hpp"

namespace pptrain {
namespace {

/// Values that B reads, by their holders.
std::vector<bool> read_backward(const OperatorList& list) {
  std::vector<bool> read(list.values.size(), false);
  for (const Operator& op : list.operators) {
    const Needs needs = needs_of(op, list, Recompute::none);
    for (const ValueIndex v : needs.backward_input) read[holder_of(list, v)] = true;
    for (const ValueIndex v : needs.backward_weight) read[holder_of(list, v)] = true;
  }
  return read;
}

/// Bytes of the scores of an attention: probabilities, and with dropout these once more and the
/// mask, a byte each (Korthikanti et al., "Reducing activation recomputation in large transformer
/// models", 2022, section 4).
double score_bytes(const op::SelfAttention& attention, const Value& queries, const Value& keys,
                   const PlainKernels& kernels) {
  const double span =
      attention.span > 0 ? static_cast<double>(attention.span) : static_cast<double>(keys.rows);
  const double scores =
      static_cast<double>(attention.heads) * static_cast<double>(queries.rows) * span;
  return (kernels.element_bytes + (kernels.drops_scores ? kernels.element_bytes + 1.0 : 0.0)) *
         scores;
}

/// Whether a value is an input of a product that members of a group divide by columns.
bool is_gathered(const OperatorList& list, ValueIndex v) {
  return std::any_of(list.operators.begin(), list.operators.end(), [&](const Operator& op) {
    const auto* linear = op.as<op::Linear>();
    return linear != nullptr && linear->division == WeightDivision::columns &&
           holder_of(list, op.inputs.front()) == v;
  });
}

/// Takes what selective recomputation keeps off `bytes`, all that is kept without it.
void make_others_again(const OperatorList& list, double element_bytes, PlainBytes& bytes) {
  bytes.whole_again = bytes.whole;
  bytes.divided_again = bytes.divided;
  const auto keep = [&](ValueIndex v) {
    const Value& value = list.values[v];
    (value.is_whole() ? bytes.whole_again : bytes.divided_again) -=
        element_bytes * static_cast<double>(value.rows * value.columns);
  };
  if (list.input) keep(*list.input);
  int products = 0;
  for (const Operator& op : list.operators) {
    const bool is_product = op.as<op::Linear>() != nullptr;
    if (is_product) ++products;
    if ((is_product && keeps_product(products)) || op.as<op::SelfAttention>() != nullptr)
      keep(*op.output);
  }
  bytes.whole_again = std::max(0.0, bytes.whole_again);
  bytes.divided_again = std::max(0.0, bytes.divided_again);
}

}  // namespace

PlainBytes plain_bytes(const Layer& layer, const PlainKernels& kernels) {
  const OperatorList& list = layer.operators;
  const std::vector<bool> read = read_backward(list);
  PlainBytes bytes;
  const auto bytes_of = [&](const Operator& op) {
    const Value& output = list.values[*op.output];
    return kernels.element_bytes * static_cast<double>(output.rows * output.columns);
  };
  for (std::size_t v = 0; v < read.size(); ++v) {
    const Value& value = list.values[v];
    const double own = kernels.element_bytes * static_cast<double>(value.rows * value.columns);
    if (read[v]) (value.is_whole() ? bytes.whole : bytes.divided) += own;
    if (read[v] && value.is_whole() && is_gathered(list, static_cast<ValueIndex>(v)))
      bytes.gathered += own;
    if (!value.is_whole()) bytes.moment = std::max(bytes.moment, 2.0 * own);
  }
  for (const Operator& op : list.operators) {
    if (op.as<op::Loss>() != nullptr) {
      const Value& logits = list.values[op.inputs.front()];
      bytes.logits = static_cast<double>(logits.rows * logits.columns);
    }
    if (op.as<op::Dropout>() != nullptr) {  // its mask has a byte for each number
      const Value& dropped = list.values[op.inputs.front()];
      (dropped.is_whole() ? bytes.whole : bytes.divided) +=
          static_cast<double>(dropped.rows * dropped.columns);
    }
    if (kernels.keeps_gates && op.as<op::Gate>() != nullptr) bytes.divided += bytes_of(op);
    const auto* attention = op.as<op::SelfAttention>();
    if (attention != nullptr && kernels.copies_attention) bytes.divided += bytes_of(op);
    if (attention == nullptr || !kernels.stores_scores) continue;
    const double scores = score_bytes(*attention, list.values[op.inputs.front()],
                                      list.values[op.inputs.back()], kernels);
    bytes.divided += scores;
    bytes.divided_again += scores;
  }
  if (kernels.keeps_products) make_others_again(list, kernels.element_bytes, bytes);
  return bytes;
}

}  // namespace pptrain
