#pragma once

#include "config/keys.hpp"

namespace pptrain {

// The sections of what is trained on and how. Which keys there are depends on the model.

void visit(KeyVisitor& visitor, DataConfig& data, const ModelConfig& model);
void visit(KeyVisitor& visitor, TrainingConfig& training, const ModelConfig& model);
void visit(KeyVisitor& visitor, OptimizerConfig& optimizer);
void visit(KeyVisitor& visitor, LrSchedulerConfig& scheduler);

}  // namespace pptrain
