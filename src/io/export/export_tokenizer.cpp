#include "io/export/export_tokenizer.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/open_file.hpp"
#include "data/byte_tokenizer.hpp"
#include "data/token_type.hpp"
#include "data/tokenize.hpp"

namespace pptrain {
namespace {

/// Whether the folder that describes the model has a tokenizer in any form.
bool folder_has_tokenizer(const std::string& folder) {
  if (folder.empty()) return false;
  for (const char* name : {"tokenizer.json", "tokenizer.model", "vocab.json"}) {
    if (std::filesystem::exists(std::filesystem::path(folder) / name)) return true;
  }
  return false;
}

bool has_byte_tokens(const CheckpointModel& from) {
  return from.model.sample.predicts_next() && is_byte_vocabulary(from.model.sample.classes) &&
         !folder_has_tokenizer(from.folder);
}

std::string text_in(const std::string& path) {
  return read_text(path, {path, "cannot be read", "", "look at the file's permissions"});
}

/// The SentencePiece model that `pptrain tokenize --train-vocabulary` wrote beside a
/// tokenizer.json. llama.cpp's converter takes the scores of pieces from it, which a tokenizer.json
/// has not.
std::string pieces_beside(const std::string& tokenizer) {
  const std::size_t stem = tokenizer.size() - std::string_view(trained_tokenizer_extension).size();
  return tokenizer.substr(0, stem) + ".model";
}

/// Without a class Hugging Face's AutoTokenizer takes the one that the model's family usually has,
/// which builds its own rules in place of those in tokenizer.json. The other keys say that no token
/// and no space is put in front of a text: AutoTokenizer and llama.cpp's converter add them for
/// some families.
nlohmann::ordered_json tokenizer_config(const CheckpointModel& from) {
  nlohmann::ordered_json json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                 {"add_prefix_space", false},
                                 {"add_bos_token", false},
                                 {"add_eos_token", false},
                                 {"clean_up_tokenization_spaces", false}};
  if (!from.config.model.is_described())
    json["model_max_length"] = from.config.training.sequence_length;
  if (from.tokenizer.empty() && from.model.sample.classes == 257)
    json["eos_token"] = byte_document_end;
  return json;
}

}  // namespace

ModelTexts made_tokenizer(const CheckpointModel& from) {
  if (from.tokenizer.empty() && !has_byte_tokens(from)) return {};
  ModelTexts texts = {{"tokenizer_config.json", tokenizer_config(from).dump(2) + "\n"}};
  if (from.tokenizer.empty()) {
    texts.emplace_back("tokenizer.json", byte_tokenizer_json(from.model.sample.classes));
    return texts;
  }
  texts.emplace_back("tokenizer.json", text_in(from.tokenizer));
  const std::string pieces = pieces_beside(from.tokenizer);
  if (std::filesystem::exists(pieces)) texts.emplace_back("tokenizer.model", text_in(pieces));
  return texts;
}

}  // namespace pptrain
