#pragma once

#include "model/optimizers/update_rule.hpp"

/// What each optimizer's step over a parameter is, in a file with the optimizer's name.
namespace pptrain::optimizers {

#define PPTRAIN_RULE(name) \
  UpdateRule name(const OptimizerConfig& optimizer, const ParameterSpec& parameter);
PPTRAIN_FOR_EACH_OPTIMIZER(PPTRAIN_RULE)
#undef PPTRAIN_RULE

}  // namespace pptrain::optimizers
