#include "io/checkpoint_model.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/open_file.hpp"
#include "config/read.hpp"
#include "io/checkpoint_file.hpp"
#include "io/checkpoint_folder.hpp"

namespace pptrain {
namespace {

std::string checkpoint_of(const std::string& source) {
  if (!std::filesystem::is_directory(source)) return source;
  const std::vector<std::string> files = CheckpointFolder(source).files();
  if (!files.empty()) return files.front();
  throw_bad_input({source, "the folder has no checkpoint", "a run directory keeps them in checkpoints/step-N.h5",
                   "name a run with [checkpoint] interval > 0, or a checkpoint"});
}

/// The folder with the config.json that a checkpoint's model is described by: what its run has kept, or where it came
/// from; "" for a model that the configuration's own keys describe.
std::string description_folder(const std::string& checkpoint, const Config& config) {
  if (config.model.from.empty()) return "";
  const std::filesystem::path kept = std::filesystem::path(checkpoint).parent_path().parent_path() / model_folder_name;
  return std::filesystem::exists(kept / "config.json") ? kept.string() : config.model.from;
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
    model.description = read_text(path, {path, "cannot be read", "", "put the model's config.json there"});
  }
  result.model = build_model(result.config.model, result.config.training, result.checkpoint);
  return result;
}

}  // namespace pptrain
