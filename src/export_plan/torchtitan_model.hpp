#pragma once

#include <string>

#include "export_plan/export_plan.hpp"

namespace pptrain {

/// Name of the file with `torchtitan_model`, and of the flavor that it adds.
inline constexpr const char* torchtitan_model_file = "pptrain_model.py";
inline constexpr const char* torchtitan_flavor = "planned";

/// torchtitan's model whose dimensions the shape has.
std::string torchtitan_model_name(const DecoderShape& shape);

/// A Python module that adds the shape to torchtitan's flavors. A shape that neither of its models
/// has throws `Error` (exit code 2).
std::string torchtitan_model(const ExportedJob& job);

/// `[optimizer]` and `[lr_scheduler]` of the job; others than AdamW and rates that fall in steps
/// are refused.
std::string torchtitan_optimizer(const ExportedJob& job);

}  // namespace pptrain
