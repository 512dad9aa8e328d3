#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/pattern.hpp"
#include "text/token_trie.hpp"

namespace pptrain {

/// A token that is looked for in the text before anything is cut or merged, as `<|endoftext|>`.
struct AddedToken {
  std::uint32_t id = 0;
  std::string text;
  bool special = false;      ///< left out of text for people
  bool single_word = false;  ///< found only where no letter, mark, digit or connector stands beside
  bool strip_left = false;   ///< takes the white space before
  bool strip_right = false;  ///< takes the white space behind
  bool normalized = false;   ///< looked for in the text behind the normalizer, as what the
                             ///< normalizer makes of it
};

/// A part of a text: an added token, or what lies between two.
struct AddedMatch {
  TextRange range;
  std::optional<std::uint32_t> token = {};
};

/// Looks for some of the added tokens: the leftmost, of several there the longest, then on behind
/// it.
class AddedTokenFinder {
 public:
  AddedTokenFinder();

  /// Looks for a token by `text`, which is that of the token or what the normalizer makes of it. Of
  /// two with the same the first counts.
  void add(const AddedToken& token, std::string_view text);
  /// The parts of a text that is UTF-8, in their order.
  std::vector<AddedMatch> parts(std::string_view text, MatchMemory& memory) const;

 private:
  struct Found {
    TextRange range;
    std::size_t token = 0;
  };

  std::optional<Found> find(std::string_view text, std::size_t from) const;
  bool is_word(std::string_view text, const TextRange& range, MatchMemory& memory) const;

  std::vector<AddedToken> tokens_;
  TokenTrie trie_;  // of places in `tokens_`
  Pattern word_;    // one character of a word
};

}  // namespace pptrain
