#include <filesystem>

#include "base/error.hpp"
#include "base/json_levels.hpp"
#include "base/open_file.hpp"
#include "text/read_parts.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {
namespace {

nlohmann::json parse_document(const std::string& text, const std::string& source) {
  constexpr const char* suggestion = "give a tokenizer.json of Hugging Face's tokenizers";
  check_json_levels(text, source, suggestion);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input({source, "this is not JSON", json_reason(error.what()), suggestion});
  }
}

void check_document(const TokenizerNode& root) {
  if (!root.value().is_object() || !root.value().contains("model"))
    root.refuse("this is no tokenizer", "it has no model",
                "give a tokenizer.json of Hugging Face's tokenizers");
  root.allow_keys({"version", "truncation", "padding", "added_tokens", "normalizer",
                   "pre_tokenizer", "post_processor", "decoder", "model"});
  for (const char* key : {"truncation", "padding"}) {
    if (root.has(key))
      root.at(key).refuse("must be null", "training takes texts as long as they are",
                          "set it to null in a copy");
  }
}

TokenizerParts read_tokenizer_parts(const TokenizerNode& root) {
  check_document(root);
  ReadPreTokenizer cuts;
  if (root.has("pre_tokenizer")) read_pre_tokenizer(root.at("pre_tokenizer"), cuts);
  TokenizerParts parts = {
      {}, {}, {}, std::move(cuts.steps), read_model(root.at("model"), cuts.bytes), {}};
  if (root.has("normalizer")) read_normalizer(root.at("normalizer"), parts.normalizer);
  if (root.has("decoder")) read_decoder(root.at("decoder"), parts.decoder);
  if (root.has("post_processor")) read_post_processor(root.at("post_processor"), parts);
  if (root.has("added_tokens"))
    parts.added = read_added_tokens(root.at("added_tokens"), tokens_of(parts.model));
  return parts;
}

/// Special tokens come first where two are looked for by the same text, as in Hugging Face's
/// library.
void find_added_tokens(TokenizerParts& parts) {
  MatchMemory memory;
  for (const bool special : {true, false}) {
    for (const AddedToken& token : parts.added) {
      if (token.special != special) continue;
      if (token.normalized) {
        parts.normalized_tokens.add(token, parts.normalizer.normalized(token.text, memory));
      } else {
        parts.raw_tokens.add(token, token.text);
      }
    }
  }
  parts.vocabulary_size = tokens_of(parts.model).limit();
  for (std::size_t i = 0; i < parts.added.size(); ++i) {
    parts.added_by_id[parts.added[i].id] = i;
    parts.vocabulary_size = std::max(parts.vocabulary_size, std::int64_t{parts.added[i].id} + 1);
  }
}

void check_template(const TokenizerNode& root, const TokenizerParts& parts) {
  std::vector<const std::vector<std::uint32_t>*> all = {&parts.prefix, &parts.suffix};
  for (const PairPiece& piece : parts.pair) all.push_back(&piece.tokens);
  for (const std::vector<std::uint32_t>* tokens : all) {
    for (const std::uint32_t token : *tokens) {
      if (token >= parts.vocabulary_size)
        root.at("post_processor")
            .refuse(fmt::format("puts token {} in", token), "there is no such token",
                    "take the file as it was published");
    }
  }
}

}  // namespace

Tokenizer Tokenizer::parse(const std::string& text, const std::string& source) {
  const nlohmann::json document = parse_document(text, source);
  const TokenizerNode root(document, source);
  TokenizerParts parts = read_tokenizer_parts(root);
  find_added_tokens(parts);
  check_template(root, parts);
  return Tokenizer(std::move(parts));
}

Tokenizer Tokenizer::read(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file =
      folder ? (std::filesystem::path(path) / "tokenizer.json").string() : path;
  return parse(
      read_text(file,
                {file, "cannot be read", "",
                 "name a tokenizer.json of Hugging Face's tokenizers, or the folder that has one"}),
      file);
}

}  // namespace pptrain
