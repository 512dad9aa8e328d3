#include "data/byte_tokenizer.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/token_type.hpp"
#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t num_bytes = 256;

/// Each byte by the character that stands for it in byte-level tokenizers.
Json vocabulary_of_bytes() {
  Json vocabulary = Json::object();
  for (std::int64_t byte = 0; byte < num_bytes; ++byte) {
    std::string character;
    append_utf8(character, character_of_byte(static_cast<unsigned char>(byte)));
    vocabulary[character] = byte;
  }
  return vocabulary;
}

Json document_end() {
  return {
      {"id", num_bytes}, {"content", byte_document_end}, {"single_word", false}, {"lstrip", false},
      {"rstrip", false}, {"normalized", false},          {"special", true}};
}

/// Between text and the characters of its bytes, without cutting into words.
Json byte_level() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", false}};
}

}  // namespace

std::string byte_tokenizer_json(std::int64_t vocabulary_size) {
  PPTRAIN_ASSERT(is_byte_vocabulary(vocabulary_size), "{} tokens are not those of bytes",
                 vocabulary_size);
  Json added = Json::array();
  if (vocabulary_size > num_bytes) added.push_back(document_end());
  const Json tokenizer = {{"version", "1.0"},
                          {"truncation", nullptr},
                          {"padding", nullptr},
                          {"added_tokens", std::move(added)},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", byte_level()},
                          {"post_processor", nullptr},
                          {"decoder", byte_level()},
                          {"model",
                           {{"type", "BPE"},
                            {"dropout", nullptr},
                            {"unk_token", nullptr},
                            {"continuing_subword_prefix", nullptr},
                            {"end_of_word_suffix", nullptr},
                            {"fuse_unk", false},
                            {"byte_fallback", false},
                            {"ignore_merges", false},
                            {"vocab", vocabulary_of_bytes()},
                            {"merges", Json::array()}}}};
  return tokenizer.dump(1) + "\n";
}

}  // namespace pptrain
