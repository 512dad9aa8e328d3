#include "model_folder.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "model/families/families.hpp"
#include "runtime/execute/model_weights.hpp"
#include "runtime/generate/text_model.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const char* const config_file = "config.json";
const char* const tokenizer_file = "tokenizer.json";

bool has_file(const std::string& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / name, ignored);
}

std::string describe(const Tokenizer& tokenizer) {
  return fmt::format("a tokenizer of {} tokens", tokenizer.vocabulary_size());
}

}  // namespace

bool names_model_folder(const std::string& path) {
  std::error_code ignored;
  return fs::path(path).filename() == config_file || fs::is_directory(path, ignored);
}

bool names_tokenizer(const std::string& path) { return path.ends_with(tokenizer_file); }

std::string validated_tokenizer(const std::string& path) { return describe(Tokenizer::read(path)); }

std::string validated_model_folder(const std::string& path) {
  std::error_code ignored;
  const std::string parent = fs::path(path).parent_path().string();
  const std::string folder = fs::is_directory(path, ignored) ? path : parent.empty() ? "." : parent;
  if (!has_file(folder, config_file)) {
    throw_bad_input({path, "this is a directory without config.json",
                     "a folder of Hugging Face's libraries has one that describes its model",
                     "name the file that is to be checked, or such a folder"});
  }
  // Weights are alike for samples of any length.
  const Model model = build_family(ConfigJson::read(folder), {1});
  const bool has_weights =
      has_file(folder, single_weight_file) || has_file(folder, weight_index_file);
  if (has_weights) ModelWeights(folder, model).check_values();
  const std::string tokenizer = has_file(folder, tokenizer_file)
                                    ? describe(read_tokenizer(folder + "/" + tokenizer_file, model))
                                    : "no tokenizer";
  return fmt::format("a {} of {} layers and {} parameters, with {} and {}", model.name,
                     model.num_layers(), model.num_parameters(),
                     has_weights ? "weights" : "no weights", tokenizer);
}

}  // namespace pptrain
