#pragma once

#include <string>

#include "model/model.hpp"

// The models that pptrain trains. Only build.cpp and the files that build them include this.
namespace pptrain {

Model build_gpt2(const ModelConfig& model, const TrainingConfig& training,
                 const std::string& source);

/// The chain of `[[model.layer]]`.
Model build_own_network(const ModelConfig& model, const TrainingConfig& training);

/// Dense layers with GELU over `input_size` numbers, then a linear classifier with softmax and
/// cross-entropy.
Model build_mlp_classifier(const ModelConfig& model, const TrainingConfig& training);

}  // namespace pptrain
