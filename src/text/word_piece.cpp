#include "text/word_piece.hpp"

#include "base/names.hpp"

namespace pptrain {

WordPieceModel::WordPieceModel(TokenTable tokens, WordPieceOptions options)
    : tokens_(std::move(tokens)), options_(std::move(options)) {
  tokens_.for_each([&](const std::string& text, std::uint32_t token) {
    if (!text.empty()) trie_.add(text, token);
  });
  for (const char byte : options_.inside_prefix)
    if (inside_) inside_ = trie_.next(*inside_, byte);
}

void WordPieceModel::append(std::string_view word, std::vector<std::uint32_t>& out) const {
  if (num_characters(word) > options_.longest_word) return out.push_back(options_.unknown);
  const std::size_t before = out.size();
  for (std::size_t begin = 0; begin < word.size();) {
    const std::optional<Piece> piece = longest(word, begin);
    if (!piece) {
      out.resize(before);
      return out.push_back(options_.unknown);
    }
    out.push_back(piece->token);
    begin = piece->end;
  }
}

std::optional<WordPieceModel::Piece> WordPieceModel::longest(std::string_view word,
                                                             std::size_t begin) const {
  std::optional<Piece> piece;
  std::optional<std::uint32_t> node = begin > 0 ? inside_ : TokenTrie::root;
  for (std::size_t end = begin; node && end < word.size();) {
    node = trie_.next(*node, word[end++]);
    const std::optional<std::uint32_t> token = node ? trie_.token(*node) : std::nullopt;
    if (token) piece = Piece{*token, end};
  }
  return piece;
}

}  // namespace pptrain
