#pragma once

#include <string>

#include "model/trainable.hpp"

// What chains of `[[model.layer]]` share.
namespace pptrain {

/// `name` as the configuration has it: "gelu_tanh", "gelu", "silu" or "relu".
Activation activation_named(const std::string& name);

/// A chain of images, convolutions and residual blocks, dense layers and classes, which `check_chain` has looked at.
Model build_own_images(const ModelConfig& model, const TrainingConfig& training);

}  // namespace pptrain
