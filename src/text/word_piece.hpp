#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_table.hpp"
#include "text/token_trie.hpp"

namespace pptrain {

/// How words are cut where they are no token.
struct WordPieceOptions {
  std::uint32_t unknown = 0;         ///< the token of a word that cannot be cut into tokens
  std::string inside_prefix = "##";  ///< in front of a token that does not begin a word
  std::size_t longest_word = 100;    ///< characters; longer words are unknown
};

/// The longest token that a word begins with, then the longest that the rest begins with, and so on
/// (Devlin et al., "BERT", 2019; Wu et al., "Google's neural machine translation system", 2016).
class WordPieceModel {
 public:
  /// `options.unknown` is in `tokens`.
  WordPieceModel(TokenTable tokens, WordPieceOptions options);

  /// Appends the tokens of a word that is UTF-8.
  void append(std::string_view word, std::vector<std::uint32_t>& out) const;
  /// All tokens of the model, by text and by number.
  const TokenTable& tokens() const { return tokens_; }

 private:
  struct Piece {
    std::uint32_t token = 0;
    std::size_t end = 0;
  };
  /// The longest token from `begin` on; nothing where there is none.
  std::optional<Piece> longest(std::string_view word, std::size_t begin) const;

  TokenTable tokens_;
  WordPieceOptions options_;
  TokenTrie trie_;
  std::optional<std::uint32_t> inside_ = TokenTrie::root;  ///< the node behind `inside_prefix`
};

}  // namespace pptrain
