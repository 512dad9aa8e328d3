#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pptrain {

class Tokenizer;
class Vocabulary;

/// A digest of what the tokens of a vocabulary stand for: equal for two ways to make tokens where
/// each number has the same text in both, be that in a tokenizer.json, a SentencePiece model, or as
/// bytes. Never 0.
std::uint64_t tokenizer_digest(const Tokenizer& tokenizer);
std::uint64_t tokenizer_digest(const Vocabulary& vocabulary);
/// The `tokenizer_digest` of bytes, and of a byte-level tokenizer whose tokens are the bytes.
std::uint64_t byte_tokens_digest();

/// A file of tokens, and what made them.
struct TokenOrigin {
  std::string path;
  std::uint64_t tokenizer = 0;  ///< `tokenizer_digest`; 0: the file does not say
  std::string where;            ///< the place that names the file, for messages
};

/// Refuses files of which two say that they were made by different tokenizers: a number would stand
/// for one text here and for another one there. Files that do not say so pass. Throws `Error` (exit
/// code 2).
void check_same_tokenizer(const std::vector<TokenOrigin>& files);

/// A digest as text, 16 hexadecimal digits, and back; 0 for what is none.
std::string digest_text(std::uint64_t digest);
std::uint64_t digest_of_text(const std::string& text);

}  // namespace pptrain
