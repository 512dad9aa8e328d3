#include "nn/pass.hpp"

namespace pptrain {

Gradient make_gradient(Tensor tensor) {
  Gradient gradient;
  gradient.owner = std::make_shared<Tensor>(std::move(tensor));
  gradient.matrix = *gradient.owner;
  return gradient;
}

std::vector<Tensor*> Pass::kept() {
  std::vector<Tensor*> tensors;
  for (Tensor& value : values) tensors.push_back(&value);
  for (std::vector<Tensor>& of_operator : statistics) {
    for (Tensor& tensor : of_operator) tensors.push_back(&tensor);
  }
  return tensors;
}

void Pass::clear() {
  values.clear();
  gradients.clear();
  statistics.clear();
  orders.clear();
}

Matrix Pass::matrix(ValueIndex v) const {
  const Part& part = parts[v];
  if (part.samples.data != nullptr) return part.samples;
  if (part.of) return matrix(*part.of).columns_from(part.first, part.columns);
  const Matrix whole = values[v];
  return part.columns == 0 ? whole : whole.columns_from(0, part.columns);
}

}  // namespace pptrain
