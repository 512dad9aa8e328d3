#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.hpp"

namespace pptrain {

/// What the tokens of a model stand for: pieces of a tokenizer, or bytes.
class TokenMeaning {
 public:
  /// Tokens below 256 are bytes; others stand for no text.
  TokenMeaning() = default;
  explicit TokenMeaning(Tokenizer tokenizer)
      : tokenizer_(std::make_shared<const Tokenizer>(std::move(tokenizer))) {}

  /// The tokens of a text that is to be continued: with those that the tokenizer puts in front.
  std::vector<std::uint32_t> encode(std::string_view text) const;
  /// The text of tokens, without special ones; bytes that are no UTF-8 become U+FFFD.
  std::string decode(std::span<const std::uint32_t> tokens) const;
  /// Null for bytes.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
};

/// The text of tokens as they come. A character whose bytes are not all there waits for them.
class TokenText {
 public:
  /// Continues the tokens of a prompt. `meaning` outlives this.
  TokenText(const TokenMeaning& meaning, std::vector<std::uint32_t> prompt);

  /// What can be said when this token has come; perhaps nothing.
  std::string add(std::uint32_t token);
  /// What was still waiting.
  std::string finish() { return take(); }

 private:
  std::string take();

  const TokenMeaning& meaning_;
  std::vector<std::uint32_t> tokens_;
  std::size_t context_ = 0;  ///< tokens from here on are decoded, so that those behind are decoded
                             ///< as in the whole text
  std::size_t said_ = 0;     ///< tokens whose text was given
};

}  // namespace pptrain
