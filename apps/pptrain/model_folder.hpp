#pragma once

#include <string>

namespace pptrain {

/// Whether a path is a folder with config.json, or that file.
bool names_model_folder(const std::string& path);

/// What a folder of Hugging Face's libraries holds: config.json, and weights and tokenizer.json
/// where they are there, each read and compared with the model. What is wrong throws `Error` (exit
/// code 2).
std::string validated_model_folder(const std::string& path);

/// Whether a path is a tokenizer.json, and what such a file holds. What is wrong throws `Error`
/// (exit code 2).
bool names_tokenizer(const std::string& path);
std::string validated_tokenizer(const std::string& path);

}  // namespace pptrain
