#pragma once

#include "model/update_rule.hpp"

/// One function per optimizer, each in a file with its name.
namespace pptrain::optimizers {

UpdateRule adamw(const OptimizerConfig& optimizer, const ParameterSpec& parameter);
UpdateRule sgd(const OptimizerConfig& optimizer, const ParameterSpec& parameter);
UpdateRule lion(const OptimizerConfig& optimizer, const ParameterSpec& parameter);
UpdateRule adafactor(const OptimizerConfig& optimizer, const ParameterSpec& parameter);
UpdateRule muon(const OptimizerConfig& optimizer, const ParameterSpec& parameter);

}  // namespace pptrain::optimizers
