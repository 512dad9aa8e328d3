#include "text/tokenizer.hpp"

#include "text/tokenizer_parts.hpp"
#include "text/utf8.hpp"

namespace pptrain {

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::make_unique<const TokenizerParts>(std::move(parts))) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::int64_t Tokenizer::vocabulary_size() const { return parts_->vocabulary_size; }
const std::vector<std::uint32_t>& Tokenizer::prefix() const { return parts_->prefix; }
const std::vector<std::uint32_t>& Tokenizer::suffix() const { return parts_->suffix; }
const std::vector<PairPiece>& Tokenizer::pair() const { return parts_->pair; }

std::optional<std::uint32_t> Tokenizer::token(std::string_view text) const {
  for (const AddedToken& added : parts_->added)
    if (added.text == text) return added.id;
  return tokens_of(parts_->model).id(text);
}

std::map<std::uint32_t, std::string> Tokenizer::tokens() const {
  std::map<std::uint32_t, std::string> tokens;
  for (const AddedToken& added : parts_->added) tokens.emplace(added.id, added.text);
  for (const auto& [text, id] : tokens_of(parts_->model).ids()) tokens.emplace(id, text);
  return tokens;
}

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::uint32_t> tokens;
  TextEncoder(*this).append(text, tokens);
  return tokens;
}

std::string Tokenizer::decode(std::span<const std::uint32_t> tokens, SpecialTokens special) const {
  std::vector<std::string> texts;
  for (const std::uint32_t token : tokens) {
    const auto found = parts_->added_by_id.find(token);
    if (found != parts_->added_by_id.end()) {
      const AddedToken& added = parts_->added[found->second];
      if (special == SpecialTokens::shown || !added.special) texts.push_back(added.text);
    } else if (const std::string* text = tokens_of(parts_->model).text(token)) {
      texts.push_back(*text);
    }
  }
  MatchMemory memory;
  return parts_->decoder.text(std::move(texts), memory);
}

void TextEncoder::append(std::string_view text, std::vector<std::uint32_t>& tokens) {
  std::string repaired;
  if (!is_utf8(text)) text = repaired = repaired_utf8(text).text;
  for (const AddedMatch& part : parts_.raw_tokens.parts(text, memory_)) {
    if (part.token) {
      tokens.push_back(*part.token);
    } else {
      append_segment(text.substr(part.range.begin, part.range.end - part.range.begin),
                     part.range.begin == 0, tokens);
    }
  }
}

void TextEncoder::append_segment(std::string_view text, bool first,
                                 std::vector<std::uint32_t>& tokens) {
  const std::string normalized = parts_.normalizer.normalized(std::string(text), memory_);
  for (const AddedMatch& part : parts_.normalized_tokens.parts(normalized, memory_)) {
    if (part.token) {
      tokens.push_back(*part.token);
      continue;
    }
    const std::string_view between =
        std::string_view(normalized).substr(part.range.begin, part.range.end - part.range.begin);
    const TextPieces pieces =
        parts_.pre_tokenizer.pieces(between, first && part.range.begin == 0, memory_);
    for (const TextPiece& piece : pieces.pieces) append_word(piece.text, tokens);
  }
}

void TextEncoder::append_word(std::string_view word, std::vector<std::uint32_t>& tokens) {
  if (const auto* pieces = std::get_if<WordPieceModel>(&parts_.model)) {
    pieces->append(word, tokens);
  } else if (const auto* unigram = std::get_if<UnigramModel>(&parts_.model)) {
    unigram->append(word, tokens);
  } else {
    std::get<BpeModel>(parts_.model).append(word, scratch_, tokens);
  }
}

}  // namespace pptrain
