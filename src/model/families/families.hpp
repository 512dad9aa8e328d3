#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"
#include "weights/config_json.hpp"

namespace pptrain {

/// What a job adds to a `config.json`.
struct FamilyOptions {
  std::int64_t tokens = 0;         ///< positions of a sample
  double compute_bytes = 4.0;      ///< of a number in products
  std::int64_t source_tokens = 0;  ///< positions of the source, where there is one; 0: as many as
                                   ///< of a sample
  std::int64_t image_size = 0;  ///< pixels of an image's side, where `config.json` does not say it;
                                ///< 0: the family's
};

/// A family of models by transformers' `model_type`: turns a `config.json` into a chain whose
/// parameters have the names and shapes of the published checkpoints. It asks for every key that
/// changes numbers and refuses those that it cannot follow.
struct Family {
  const char* type;
  const char* architecture;  ///< transformers' class with the head that pptrain trains; "":
                             ///< transformers has none
  /// Makes the chain. Throws `Error` (exit code 2) for values that the family cannot follow;
  /// `build_family` looks for keys that were not asked for.
  Model (*build)(const ConfigJson& config, const FamilyOptions& options);
  /// Ends of names of tensors that checkpoints hold and no computation needs.
  std::vector<std::string> not_needed = {};
  /// Keys of config.json beside those of all families that change nothing here.
  std::vector<std::string> harmless = {};
  /// Keys that the family's class of transformers passes over whatever they are, beside those of
  /// all families.
  std::vector<std::string> ignored = {};
  bool has_classes = false;  ///< whether it tells classes apart, so that the keys of their names
                             ///< say something
  /// Other `model_type`s of a `config.json` or of its `text_config`, of models with parts for
  /// images whose text model is the family's. Their positions count time, rows and columns of
  /// images ("mrope"); in a text these three numbers are the same, so that heads turn as the
  /// family's do.
  std::vector<std::string> text_types = {};
};

/// All families.
const std::vector<Family>& families();
std::vector<std::string> family_names();

/// The family of a `config.json`, or of its text part. An unknown one throws `Error` (exit code 2).
const Family& family_of(const ConfigJson& config);

/// The model of a `config.json`, or of its text part. Unknown keys and values throw `Error` (exit
/// code 2) with file, line and key.
Model build_family(const ConfigJson& config, const FamilyOptions& options);

// The builders; only families.cpp calls them.
Model build_gpt2_family(const ConfigJson& config, const FamilyOptions& options);
Model build_llama(const ConfigJson& config, const FamilyOptions& options);
Model build_mistral(const ConfigJson& config, const FamilyOptions& options);
Model build_qwen2(const ConfigJson& config, const FamilyOptions& options);
Model build_qwen3(const ConfigJson& config, const FamilyOptions& options);
Model build_gemma(const ConfigJson& config, const FamilyOptions& options);
Model build_gemma2(const ConfigJson& config, const FamilyOptions& options);
Model build_gpt_neox(const ConfigJson& config, const FamilyOptions& options);
Model build_opt(const ConfigJson& config, const FamilyOptions& options);
Model build_bert(const ConfigJson& config, const FamilyOptions& options);
Model build_vit(const ConfigJson& config, const FamilyOptions& options);
Model build_smollm3(const ConfigJson& config, const FamilyOptions& options);
Model build_granite(const ConfigJson& config, const FamilyOptions& options);
Model build_olmo2(const ConfigJson& config, const FamilyOptions& options);
Model build_phi3(const ConfigJson& config, const FamilyOptions& options);
Model build_gemma3_text(const ConfigJson& config, const FamilyOptions& options);
Model build_mixtral(const ConfigJson& config, const FamilyOptions& options);
Model build_qwen2_moe(const ConfigJson& config, const FamilyOptions& options);
Model build_qwen3_moe(const ConfigJson& config, const FamilyOptions& options);
Model build_t5(const ConfigJson& config, const FamilyOptions& options);
Model build_resnet(const ConfigJson& config, const FamilyOptions& options);
Model build_vgg(const ConfigJson& config, const FamilyOptions& options);

}  // namespace pptrain
