#include "runtime/generate/token_text.hpp"

#include "text/utf8.hpp"

namespace pptrain {
namespace {

/// What decoding makes of bytes that are no character, or not yet one.
constexpr std::string_view replacement = "\xEF\xBF\xBD";
/// A character has four bytes at most, so bytes that wait for longer are none.
constexpr std::size_t longest_wait = 8;

std::string text_of_bytes(std::span<const std::uint32_t> tokens) {
  std::string bytes;
  for (const std::uint32_t token : tokens) {
    if (token < 256) bytes += static_cast<char>(token);
  }
  return repaired_utf8(bytes).text;
}

}  // namespace

std::vector<std::uint32_t> TokenMeaning::encode(std::string_view text) const {
  std::vector<std::uint32_t> tokens;
  if (!tokenizer_) {
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  tokens = tokenizer_->prefix();
  const std::vector<std::uint32_t> of_text = tokenizer_->encode(text);
  tokens.insert(tokens.end(), of_text.begin(), of_text.end());
  return tokens;
}

std::string TokenMeaning::decode(std::span<const std::uint32_t> tokens) const {
  return tokenizer_ ? tokenizer_->decode(tokens, SpecialTokens::left_out) : text_of_bytes(tokens);
}

TokenText::TokenText(const TokenMeaning& meaning, std::vector<std::uint32_t> prompt)
    : meaning_(meaning), tokens_(std::move(prompt)), said_(tokens_.size()) {}

std::string TokenText::add(std::uint32_t token) {
  tokens_.push_back(token);
  const std::string text = meaning_.decode(std::span(tokens_).subspan(said_));
  const bool waits = text.ends_with(replacement) && tokens_.size() - said_ < longest_wait;
  return waits ? "" : take();
}

/// Tokens are decoded behind those before them: at the start of a text some decoders leave out a
/// space.
std::string TokenText::take() {
  const std::span<const std::uint32_t> all =
      std::span<const std::uint32_t>(tokens_).subspan(context_);
  const std::string before = meaning_.decode(all.first(said_ - context_));
  const std::string text = meaning_.decode(all);
  context_ = said_;
  said_ = tokens_.size();
  return text.substr(std::min(before.size(), text.size()));
}

}  // namespace pptrain
