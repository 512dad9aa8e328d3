#pragma once

#include <cstdint>
#include <string>

#include "weights/weight_type.hpp"

namespace pptrain {

struct ExportOptions {
  std::string source;  ///< a checkpoint, or a run directory, of which the last checkpoint is taken
  std::string output;  ///< the folder to be written
  WeightType type = WeightType::f32;
};

struct ExportResult {
  std::string checkpoint;
  std::string family;
  std::int64_t step = 0;
  std::int64_t parameters = 0;
};

/// Writes a checkpoint as Hugging Face's libraries read it: config.json, model.safetensors (in pieces above 5 GB), and
/// the tokenizer's files and generation settings where the run has them. A model that no library has (a network
/// of [[model.layer]], a classifier), a folder with weights already, and files that cannot be read throw `Error` (exit
/// code 2; 4 on a full disk).
ExportResult export_model(const ExportOptions& options);

/// Copies config.json, the tokenizer's files and the generation settings of a folder, those that are there, into
/// another one, which is made. Throws `Error` (exit code 4 on a full disk).
void copy_model_files(const std::string& from, const std::string& to);

}  // namespace pptrain
