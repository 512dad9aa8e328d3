#include "model/optimizers/rules.hpp"

namespace pptrain::optimizers {

/// Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2: reads
/// weight, gradient and m, writes weight and m.
UpdateRule lion(const OptimizerConfig& /*optimizer*/, const ParameterSpec& /*parameter*/) {
  return {OptimizerKind::lion, {{"m"}}, UpdateScope::element, 11.0, 20.0};
}

}  // namespace pptrain::optimizers
