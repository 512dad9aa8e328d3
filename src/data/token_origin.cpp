#include "data/token_origin.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <map>

#include "base/error.hpp"
#include "data/vocabulary.hpp"
#include "text/byte_alphabet.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

/// The length of each text goes in front of it, so that no two tables are the same bytes.
std::uint64_t digest_of(const std::map<std::uint32_t, std::string>& tokens) {
  std::string table;
  for (const auto& [token, text] : tokens)
    table += fmt::format("{} {} {}", token, text.size(), text);
  const std::uint64_t digest = XXH3_64bits(table.data(), table.size());
  return digest == 0 ? 1 : digest;
}

std::map<std::uint32_t, std::string> characters_of_bytes() {
  std::map<std::uint32_t, std::string> characters;
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    append_utf8(characters[byte], character_of_byte(static_cast<unsigned char>(byte)));
  return characters;
}

std::string name_of(std::uint64_t tokenizer) {
  return tokenizer == byte_tokens_digest() ? "bytes" : "tokenizer " + digest_text(tokenizer);
}

}  // namespace

std::uint64_t tokenizer_digest(const Tokenizer& tokenizer) { return digest_of(tokenizer.tokens()); }

std::uint64_t tokenizer_digest(const Vocabulary& vocabulary) {
  std::map<std::uint32_t, std::string> pieces;
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) {
    const auto number = static_cast<std::uint32_t>(token);
    pieces.emplace(number, vocabulary.piece(number));
  }
  return digest_of(pieces);
}

std::uint64_t byte_tokens_digest() {
  static const std::uint64_t digest = digest_of(characters_of_bytes());
  return digest;
}

void check_same_tokenizer(const std::vector<TokenOrigin>& files) {
  const TokenOrigin* first = nullptr;
  for (const TokenOrigin& file : files) {
    if (file.tokenizer == 0) continue;
    if (first == nullptr) first = &file;
    if (file.tokenizer == first->tokenizer) continue;
    throw_bad_input({file.where,
                     fmt::format("{} and {} are of different tokenizers", file.path, first->path),
                     fmt::format("the former has tokens of {}, the latter of {}: a number stands "
                                 "for another text in each",
                                 name_of(file.tokenizer), name_of(first->tokenizer)),
                     "make both by the model's tokenizer, `pptrain tokenize --tokenizer FOLDER`"});
  }
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

std::uint64_t digest_of_text(const std::string& text) {
  std::uint64_t digest = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, digest, 16);
  return text.size() == 16 && read.ec == std::errc() && read.ptr == end ? digest : 0;
}

}  // namespace pptrain
