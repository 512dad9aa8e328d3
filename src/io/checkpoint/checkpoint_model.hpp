#pragma once

#include <cstdint>
#include <string>

#include "model/model.hpp"

namespace pptrain {

/// Files of a model's folder beside its weights: what a run keeps of the folder that it started
/// from, and what an export writes.
inline constexpr const char* model_folder_name = "model";

/// The model that a checkpoint holds the parameters of.
struct CheckpointModel {
  std::string checkpoint;  ///< the file
  std::int64_t step = 0;
  Config config;       ///< of its job; [model] from names `folder`
  std::string folder;  ///< with the config.json that describes the model; "": the configuration's
                       ///< own keys do
  /// The tokenizer.json that lies beside the tokens of the run, where `tokenize --train-vocabulary`
  /// made it with them; "": none lies there, or the folder has one of its own, or tokens are bytes.
  std::string tokenizer;
  Model model;
};

/// Reads a checkpoint, or the last one of a run directory. What is no checkpoint, a run without
/// one, and a model that cannot be built again throw `Error` (exit code 2). Parameters are not
/// read.
CheckpointModel read_checkpoint_model(const std::string& source);

}  // namespace pptrain
