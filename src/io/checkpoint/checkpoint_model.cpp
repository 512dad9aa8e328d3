#include "io/checkpoint/checkpoint_model.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/open_file.hpp"
#include "config/read.hpp"
#include "data/token_type.hpp"
#include "data/tokenize.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"

namespace pptrain {
namespace {

std::string checkpoint_of(const std::string& source) {
  return std::filesystem::is_directory(source) ? checkpoints_of_run(source).front() : source;
}

/// The folder with the config.json that a checkpoint's model is described by: what its run has
/// kept, or where it came from; "" for a model that the configuration's own keys describe.
std::string description_folder(const std::string& checkpoint, const Config& config) {
  if (config.model.from.empty()) return "";
  const std::filesystem::path kept =
      std::filesystem::path(checkpoint).parent_path().parent_path() / model_folder_name;
  return std::filesystem::exists(kept / "config.json") ? kept.string() : config.model.from;
}

/// The tokenizer.json that `pptrain tokenize --train-vocabulary` wrote beside the tokens that the
/// run learned from; "" where there is none.
std::string tokenizer_of_data(const DataConfig& data) {
  for (const std::string& tokens : data.train) {
    const std::filesystem::path beside =
        std::filesystem::path(tokens).replace_extension(trained_tokenizer_extension);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(beside, ignored)) return beside.string();
  }
  return "";
}

}  // namespace

CheckpointModel read_checkpoint_model(const std::string& source) {
  CheckpointModel result;
  result.checkpoint = checkpoint_of(source);
  const CheckpointHead head = read_checkpoint_head(result.checkpoint);
  result.step = head.state.step;
  result.config = parse_config(head.state.configuration, result.checkpoint, "");
  result.folder = description_folder(result.checkpoint, result.config);
  if (!result.folder.empty()) {
    ModelConfig& model = result.config.model;
    model.from = result.folder;
    const std::string path = model.from + "/config.json";
    model.description =
        read_text(path, {path, "cannot be read", "", "put the model's config.json there"});
  }
  result.model = build_model(result.config.model, result.config.training, result.checkpoint);
  const bool has_own =
      !result.folder.empty() && std::filesystem::exists(result.folder + "/tokenizer.json");
  const bool has_bytes = is_byte_vocabulary(result.model.sample.classes);
  if (!has_own && !has_bytes) result.tokenizer = tokenizer_of_data(result.config.data);
  return result;
}

}  // namespace pptrain
