#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.hpp"
#include "text/pattern.hpp"

namespace pptrain {

struct TokenizerParts;

/// What stands at a place of a sequence that is made of two texts: one of them, or tokens that are
/// always there.
struct PairPiece {
  std::optional<std::size_t> text;  ///< 0 or 1: the first text or the second one; nothing: `tokens`
  std::vector<std::uint32_t> tokens;  ///< where there is no text
  std::uint32_t type = 0;  ///< of each token that comes of it, as an embedding of token types takes
                           ///< it
};

/// What `Tokenizer::decode` makes of special tokens, as `<|endoftext|>`.
enum class SpecialTokens { shown, left_out };

/// Text to tokens and back as Hugging Face's tokenizers do it, by the file tokenizer.json:
/// byte-pair encoding of bytes (GPT-2, Llama 3, Qwen 2) or of characters with bytes for those that
/// have no token (Llama 2, Mistral, Gemma), WordPiece (BERT) or unigram models (T5).
///
/// Any number of threads may use one; each encodes by a `TextEncoder` of its own.
class Tokenizer {
 public:
  /// Reads tokenizer.json, or that of a folder. Throws `Error` (exit code 2), with file, key,
  /// reason and remedy, where it cannot be read or asks for what is not known here: nothing is left
  /// out in silence.
  static Tokenizer read(const std::string& path);
  /// Reads the text of such a file; `source` is the file's name for messages.
  static Tokenizer parse(const std::string& text, const std::string& source);

  Tokenizer(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// One more than the largest token: what a model needs as the size of its vocabulary.
  std::int64_t vocabulary_size() const;
  /// The token with this text, added or not.
  std::optional<std::uint32_t> token(std::string_view text) const;
  /// All tokens with their texts as the file has them, added ones too, by their number.
  std::map<std::uint32_t, std::string> tokens() const;
  /// The tokens that stand in front of a text and behind it (the post-processor: `<s>`, `</s>`).
  const std::vector<std::uint32_t>& prefix() const;
  /// Tokens that stand behind a text; empty where the tokenizer puts none there.
  const std::vector<std::uint32_t>& suffix() const;
  /// How a sequence is made of two texts (the post-processor: `[CLS] A [SEP] B [SEP]`), each once.
  /// Empty where the file says it in a way that is not known here.
  const std::vector<PairPiece>& pair() const;

  /// The tokens of a text, without `prefix` and `suffix`. Bytes that are no UTF-8 count as U+FFFD
  /// (`repaired_utf8`).
  std::vector<std::uint32_t> encode(std::string_view text) const;
  /// The text of tokens. A number that is no token is left out; bytes that are no UTF-8 become
  /// U+FFFD.
  std::string decode(std::span<const std::uint32_t> tokens,
                     SpecialTokens special = SpecialTokens::shown) const;

 private:
  friend class TextEncoder;
  explicit Tokenizer(TokenizerParts parts);

  std::unique_ptr<const TokenizerParts> parts_;
};

/// Encodes text for one thread: what it has seen makes it faster and changes nothing.
class TextEncoder {
 public:
  /// `tokenizer` outlives it.
  explicit TextEncoder(const Tokenizer& tokenizer) : parts_(*tokenizer.parts_) {}

  /// Appends what `Tokenizer::encode` returns.
  void append(std::string_view text, std::vector<std::uint32_t>& tokens);

 private:
  void append_word(std::string_view word, std::vector<std::uint32_t>& tokens);
  void append_segment(std::string_view text, bool first, std::vector<std::uint32_t>& tokens);

  const TokenizerParts& parts_;
  MatchMemory memory_;
  BpeScratch scratch_;
};

}  // namespace pptrain
