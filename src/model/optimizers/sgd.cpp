#include "model/optimizers/rules.hpp"

namespace pptrain::optimizers {

/// Reads weight and gradient and writes the weight; with momentum (Sutskever et al., "On the
/// importance of initialization and momentum in deep learning", ICML 2013) it reads and writes the
/// sum of past gradients too.
UpdateRule sgd(const OptimizerConfig& optimizer, const ParameterSpec& /*parameter*/) {
  if (optimizer.momentum == 0.0) return {OptimizerKind::sgd, {}, UpdateScope::element, 5.0, 12.0};
  return {OptimizerKind::sgd, {{"momentum"}}, UpdateScope::element, 10.0, 20.0};
}

}  // namespace pptrain::optimizers
