#include "model/optimizers/rules.hpp"

namespace pptrain::optimizers {

/// Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", ICML 2018,
/// without a mean of gradients: of a matrix the running means of squared gradients by row and by
/// column, of others by element. It comes to the gradients three times: for their squares, for the
/// size of the step, and for the step.
UpdateRule adafactor(const OptimizerConfig& /*optimizer*/, const ParameterSpec& parameter) {
  if (parameter.shape.size() != 2) {
    return {OptimizerKind::adafactor, {{"variance"}}, UpdateScope::sums, 16.0, 32.0};
  }
  return {OptimizerKind::adafactor,
          {{"row_variance", StateExtent::rows}, {"column_variance", StateExtent::columns}},
          UpdateScope::sums,
          20.0,
          24.0};
}

}  // namespace pptrain::optimizers
