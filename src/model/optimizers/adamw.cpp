#include "model/optimizers/rules.hpp"

namespace pptrain::optimizers {

/// Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2: reads
/// weight, gradient, m and v, writes all but the gradient.
UpdateRule adamw(const OptimizerConfig& /*optimizer*/, const ParameterSpec& /*parameter*/) {
  return {OptimizerKind::adamw, {{"m"}, {"v"}}, UpdateScope::element, 16.0, 28.0};
}

}  // namespace pptrain::optimizers
