#include <algorithm>

#include "model/optimizers/rules.hpp"

namespace pptrain::optimizers {

/// Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024: of a matrix in a
/// layer between the first and the last the step is its momentum, brought near an orthogonal matrix
/// by five iterations of three products each. All others take AdamW.
UpdateRule muon(const OptimizerConfig& optimizer, const ParameterSpec& parameter) {
  if (!parameter.hidden || parameter.shape.size() != 2) return adamw(optimizer, parameter);
  const auto shorter = static_cast<double>(std::min(parameter.shape[0], parameter.shape[1]));
  const auto longer = static_cast<double>(std::max(parameter.shape[0], parameter.shape[1]));
  const double products = 5.0 * (4.0 * shorter + 2.0 * shorter * shorter / longer);
  return {OptimizerKind::muon, {{"momentum"}}, UpdateScope::matrix, products + 10.0, 40.0};
}

}  // namespace pptrain::optimizers
