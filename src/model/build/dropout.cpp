#include "model/build/dropout.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "model/folds/layer_folds.hpp"

namespace pptrain {
namespace {

/// The product, before the sum over the group if there is one, that value `v` is the result of.
Operator& product_of(OperatorList& list, ValueIndex v) {
  for (Operator& op : list.operators) {
    if (op.as<op::Linear>() != nullptr && op.output == v) return op;
  }
  PPTRAIN_ASSERT(false, "value {} of a layer has a bias and is no product", v);
}

/// The bias that a sum adds is the product's again: it is dropped like the product.
void give_bias_back(OperatorList& list, Operator& sum) {
  auto& addition = std::get<op::Addition>(sum.kind);
  if (!addition.bias) return;
  Operator& product = product_of(list, sum.inputs[1]);
  std::get<op::Linear>(product.kind).bias = true;
  product.parameters.push_back(sum.parameters.front());
  addition.bias = false;
  sum.parameters.clear();
}

bool comes_from_table(const OperatorList& list, ValueIndex v) {
  for (const Operator& op : list.operators) {
    if (op.output == v && op.as<op::Embedding>() != nullptr) return true;
  }
  return false;
}

/// Whether a sum is of the stream and a branch, and no part of a branch itself.
bool ends_branch(const OperatorList& list, const Operator& sum) {
  if (sum.as<op::Addition>() == nullptr || comes_from_table(list, sum.inputs[1])) return false;
  for (const Operator& outer : list.operators) {
    if (outer.as<op::Addition>() != nullptr && outer.inputs[1] == sum.output) return false;
  }
  return true;
}

/// Drops in one list of a layer's operators; returns how many branches there are. The numbers drawn
/// for a branch follow from its name, so that they are the same however the layer is divided.
int drop_branches(OperatorList& list, const std::string& layer, double rate) {
  int branches = 0;
  for (std::size_t i = 0; i < list.operators.size(); ++i) {
    if (!ends_branch(list, list.operators[i])) continue;
    give_bias_back(list, list.operators[i]);
    const ValueIndex branch = list.operators[i].inputs[1];
    const op::Dropout dropout = {rate, stream_of(fmt::format("dropout.{}.{}", layer, branches++))};
    list.operators.insert(list.operators.begin() + static_cast<std::ptrdiff_t>(i),
                          {dropout, {branch}, branch, {}});
    ++i;
  }
  return branches;
}

/// What a layer that reads the samples makes of them is dropped as a whole.
void drop_samples(const Layer& layer, OperatorList& list, double rate) {
  if (!layer.reads_samples() || !list.output) return;
  const op::Dropout dropout = {rate, stream_of("dropout." + layer.name)};
  list.operators.push_back({dropout, {*list.output}, list.output, {}});
}

}  // namespace

void add_dropout(Model& model, double rate, double compute_bytes, const std::string& source) {
  int branches = 0;
  for (Layer& layer : model.layers) {
    branches += drop_branches(layer.operators, layer.name, rate);
    drop_samples(layer, layer.operators, rate);
    for (auto& [division, list] : layer.other_divisions) {
      drop_branches(list, layer.name, rate);
      drop_samples(layer, list, rate);
    }
    fold(layer, compute_bytes);
  }
  if (branches > 0) return;
  throw_bad_input({source, fmt::format("dropout with {}", model.name),
                   "it drops what branches of a layer add to the stream, and there are none",
                   "leave dropout out"});
}

}  // namespace pptrain
