#include "runtime/generate/text_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/open_file.hpp"
#include "data/token_type.hpp"
#include "io/checkpoint/checkpoint_model.hpp"
#include "io/checkpoint/parameters.hpp"
#include "runtime/execute/model_weights.hpp"
#include "text/json_text.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

bool has_bytes(const Model& model) { return is_byte_vocabulary(model.sample.classes); }

bool tokenizer_lies_in(const std::string& folder) {
  return !folder.empty() && fs::exists(fs::path(folder) / "tokenizer.json");
}

/// A JSON object in a folder; an empty one where there is none.
nlohmann::json object_in(const std::string& folder, const char* name) {
  if (folder.empty()) return nlohmann::json::object();
  return read_json_object(fs::path(folder) / name).value_or(nlohmann::json::object());
}

std::set<std::uint32_t> ids_of(const nlohmann::json& json) {
  std::set<std::uint32_t> ids;
  const auto add = [&](const nlohmann::json& id) {
    if (id.is_number_unsigned()) ids.insert(id.get<std::uint32_t>());
  };
  const auto found = json.find("eos_token_id");
  if (found == json.end()) return ids;
  if (found->is_array()) {
    std::for_each(found->begin(), found->end(), add);
  } else {
    add(*found);
  }
  return ids;
}

void refuse_other_models(const Model& model, const std::string& source) {
  if (model.sample.predicts_next()) return;
  throw_bad_input({source, fmt::format("a {} continues no text", model.name),
                   why_no_text(model.sample),
                   "name a language model that predicts the next token"});
}

/// A parameter is read whole; all pieces that a process has of it are asked for one after another.
ParameterSource parameters_in(const std::string& checkpoint) {
  struct Reader {
    ParameterFile file;
    std::string name;
    std::vector<float> values;
  };
  const auto reader = std::make_shared<Reader>(Reader{ParameterFile(checkpoint), "", {}});
  return [reader](const ParameterSpec& spec, Interval elements, float* out) {
    if (reader->name != spec.name) reader->values = reader->file.read(spec.name, spec.shape);
    reader->name = spec.name;
    std::copy_n(reader->values.begin() + elements.begin, elements.size(), out);
  };
}

TextModel open_checkpoint(const std::string& source, const std::string& named_tokenizer) {
  const CheckpointModel from = read_checkpoint_model(source);
  const std::string& tokenizer = named_tokenizer.empty() ? from.tokenizer : named_tokenizer;
  refuse_other_models(from.model, from.checkpoint);
  TextModel text;
  text.model = from.model;
  text.description = fmt::format("{} after step {}", from.model.name, from.step);
  text.parameters = parameters_in(from.checkpoint);
  text.meaning = token_meaning(from.model, tokenizer, from.folder, from.checkpoint);
  text.ends = end_tokens(from.folder, tokenizer, text.meaning);
  if (from.config.data.end_of_document)
    text.ends.insert(static_cast<std::uint32_t>(*from.config.data.end_of_document));
  text.longest = longest_text(from.folder, from.config.training);
  return text;
}

TextModel open_folder(const std::string& folder, const std::string& tokenizer) {
  ModelConfig config;
  config.from = folder;
  TrainingConfig training;
  training.sequence_length = 1;  // of no text that is continued
  TextModel text;
  text.model = build_model(config, training, folder);
  refuse_other_models(text.model, folder);
  text.description = text.model.name;
  const auto weights = std::make_shared<ModelWeights>(folder, text.model);
  text.parameters = [weights](const ParameterSpec& spec, Interval elements, float* out) {
    weights->read(spec, elements, out);
  };
  text.meaning = token_meaning(text.model, tokenizer, folder, folder);
  text.ends = end_tokens(folder, tokenizer, text.meaning);
  text.longest = longest_text(folder);
  return text;
}

}  // namespace

std::string why_no_text(const SampleShape& sample) {
  if (sample.has_source()) return "its tokens follow from those of a source";
  return sample.tokens() ? "each of its tokens depends on those behind it"
                         : "its samples are numbers, not tokens";
}

bool has_token_meaning(const Model& model, const std::string& folder) {
  return tokenizer_lies_in(folder) || has_bytes(model);
}

Tokenizer read_tokenizer(const std::string& path, const Model& model) {
  Tokenizer read = Tokenizer::read(path);
  if (read.vocabulary_size() <= model.sample.classes) return read;
  throw_bad_input({path, fmt::format("the tokenizer has {} tokens", read.vocabulary_size()),
                   fmt::format("the model has {}", model.sample.classes),
                   "use the tokenizer that made the model's data"});
}

TokenMeaning token_meaning(const Model& model, const std::string& tokenizer,
                           const std::string& folder, const std::string& where) {
  const bool beside = tokenizer.empty() && tokenizer_lies_in(folder);
  if (tokenizer.empty() && !beside) {
    if (has_bytes(model)) return {};
    throw_bad_input(
        {where,
         fmt::format("there is no tokenizer for the {} tokens of the model", model.sample.classes),
         "no tokenizer.json lies beside its config.json, and the tokens of bytes are 256",
         "name the one that made its data with --tokenizer TOKENIZER.json"});
  }
  return TokenMeaning(read_tokenizer(beside ? folder : tokenizer, model));
}

std::set<std::uint32_t> end_tokens(const std::string& folder, const std::string& tokenizer,
                                   const TokenMeaning& meaning) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::set<std::uint32_t> ids = ids_of(object_in(folder, name));
    if (!ids.empty()) return ids;
  }
  if (meaning.tokenizer() == nullptr) return {};
  const std::optional<std::string> name =
      named_token(tokenizer.empty() ? folder : tokenizer, "eos_token");
  const std::optional<std::uint32_t> token =
      name ? meaning.tokenizer()->token(*name) : std::nullopt;
  return token ? std::set<std::uint32_t>{*token} : std::set<std::uint32_t>();
}

std::optional<std::size_t> longest_text(const std::string& folder) {
  const nlohmann::json json = object_in(folder, "config.json");
  for (const char* key : {"n_positions", "max_position_embeddings"}) {
    const auto found = json.find(key);
    if (found != json.end() && found->is_number_unsigned() && *found > 0)
      return found->get<std::size_t>();
  }
  return std::nullopt;
}

std::optional<std::size_t> longest_text(const std::string& folder, const TrainingConfig& training) {
  return folder.empty() ? std::optional(static_cast<std::size_t>(training.sequence_length))
                        : longest_text(folder);
}

TextModel open_text_model(const std::string& source, const std::string& tokenizer) {
  if (!fs::exists(source)) {
    throw_bad_input(
        {source, "there is no such model", "",
         "name a checkpoint, a run directory, or a folder with config.json and safetensors"});
  }
  const bool is_folder = fs::exists(fs::path(source) / "config.json");
  return is_folder ? open_folder(source, tokenizer) : open_checkpoint(source, tokenizer);
}

}  // namespace pptrain
