#pragma once

#include <string>
#include <vector>

#include "export_plan/export_plan.hpp"

namespace pptrain {

/// Megatron-LM's options, one each, for the shape of the model. One that its GPT cannot be told of
/// throws `Error` (exit code 2).
std::vector<std::string> megatron_model_arguments(const ExportedJob& job);

/// Megatron-LM's options for precision, optimizer and learning rate of the job, and the number of
/// steps. What it cannot be told throws `Error` (exit code 2).
std::vector<std::string> megatron_training_arguments(const ExportedJob& job);

}  // namespace pptrain
