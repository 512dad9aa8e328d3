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

/// Writes a checkpoint as Hugging Face's libraries read it: config.json, model.safetensors (in
/// pieces above 5 GB), and the tokenizer's files and generation settings where the run has them. A
/// model that no library has (a network of [[model.layer]], a classifier), a folder with weights
/// already, and files that cannot be read throw `Error` (exit code 2; 4 on a full disk). All files
/// appear when all of them are whole, weights behind config.json, so that nobody reads one model's
/// weights by another one's description; where writing fails nothing is left.
ExportResult export_model(const ExportOptions& options);

/// Writes config.json, as it has been read (`description`), and the tokenizer's files and
/// generation settings of the folder `from`, those that are there, into another one, which is made.
/// A file that is none, or a link that leads out of the folder, throws `Error` (exit code 2, or 4
/// on a full disk) before any is written.
void copy_model_files(const std::string& from, const std::string& description,
                      const std::string& to);

/// Reads what `copy_model_files` would copy of a folder, and throws as that does, so that a job
/// says so before it begins.
void check_model_files(const std::string& from);

}  // namespace pptrain
