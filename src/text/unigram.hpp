#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_table.hpp"
#include "text/token_trie.hpp"

namespace pptrain {

/// What a unigram model knows beside its tokens.
struct UnigramOptions {
  std::vector<double> scores;  ///< log probability of each token, by its number
  std::uint32_t unknown = 0;   ///< the token of characters that no token has
  bool byte_fallback = false;  ///< such characters become the tokens of their bytes ("<0x0A>")
                               ///< where all are there
};

/// The most probable tokens of a word, by Viterbi's algorithm over its bytes (Kudo, "Subword
/// regularization", 2018, section 3.2), as SentencePiece's unigram models cut it (T5, ALBERT,
/// XLM-R). Of equal probabilities the path that was found first stays: shorter tokens from earlier
/// beginnings.
class UnigramModel {
 public:
  /// `options.scores` has a score for every token; `options.unknown` is in `tokens`.
  UnigramModel(TokenTable tokens, UnigramOptions options);

  /// Appends the tokens of a word that is UTF-8. Neighbouring unknown characters are one unknown
  /// token.
  void append(std::string_view word, std::vector<std::uint32_t>& out) const;
  /// All tokens of the model, by text and by number.
  const TokenTable& tokens() const { return tokens_; }

 private:
  /// The best way to the place behind some bytes.
  struct Step {
    double score = 0.0;
    std::size_t begin = 0;  ///< where its last token begins
    std::uint32_t token = 0;
    bool reached = false;
  };

  void visit(std::string_view word, std::size_t begin, std::vector<Step>& steps) const;
  void append_unknown(std::string_view text, std::vector<std::uint32_t>& out) const;

  TokenTable tokens_;
  UnigramOptions options_;
  double unknown_score_ = 0.0;
  TokenTrie trie_;
};

}  // namespace pptrain
