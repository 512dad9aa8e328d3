#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/join_table.hpp"
#include "text/merge_table.hpp"
#include "text/token_table.hpp"

namespace pptrain {

/// How a word becomes tokens before they are merged.
struct BpeOptions {
  bool bytes = false;  ///< each byte of UTF-8 is a token (byte_alphabet.hpp), else each character
  std::optional<std::uint32_t> unknown = {};  ///< the token of a character that has none; nothing:
                                              ///< it is left out
  bool fuse_unknown = false;                  ///< one such token for several in a row
  bool byte_fallback = false;  ///< tokens `<0x41>` for the bytes of a character that has none
  bool ignore_merges = false;  ///< a word that is a token is that token, however it would be merged
};

/// A merge as a file lists it: two tokens and the one that takes their place.
struct ListedMerge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t result = 0;
};

/// Memory of one thread for merging, kept from word to word.
class BpeScratch {
 public:
  /// The tokens of a word that was seen before; null where it was not.
  const std::vector<std::uint32_t>* known(std::string_view word) const;
  /// Keeps the tokens of a word for `known`. Long words are not kept, and a full memory is emptied
  /// first.
  void remember(std::string_view word, std::vector<std::uint32_t> tokens);

 private:
  friend class BpeModel;
  struct Waiting {
    std::uint64_t order = 0;  ///< rank, then position
    std::uint32_t result = 0;

    bool operator>(const Waiting& other) const { return order > other.order; }
  };

  std::unordered_map<std::string, std::vector<std::uint32_t>, TextHash, std::equal_to<>> words_;
  std::vector<std::uint32_t> symbols_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> previous_;
  std::vector<Waiting> waiting_;
};

/// Byte-pair encoding (Sennrich et al. 2016): of all pairs of neighbours the one whose merge has
/// the lowest rank becomes one token, of equal ones the leftmost, until no pair has a merge.
class BpeModel {
 public:
  /// `merges` in the order of their ranks; their tokens, and those of the options, are in `tokens`.
  BpeModel(TokenTable tokens, const std::vector<ListedMerge>& merges, const BpeOptions& options);

  /// Appends the tokens of a word that is UTF-8.
  void append(std::string_view word, BpeScratch& scratch, std::vector<std::uint32_t>& out) const;
  /// All tokens of the model, by text and by number.
  const TokenTable& tokens() const { return tokens_; }
  /// Options that the model was made with.
  const BpeOptions& options() const { return options_; }

 private:
  std::optional<std::uint32_t> whole_word(std::string_view word) const;
  std::optional<std::uint32_t> symbol(std::string_view character) const;
  bool append_fallback(std::string_view character, std::vector<std::uint32_t>& out) const;
  void append_symbols(std::string_view word, std::vector<std::uint32_t>& out) const;
  /// The end of the part of a word, from `begin` on, that can be merged by itself.
  std::size_t end_of_part(std::string_view word, std::size_t begin) const;
  void append_parts(std::string_view word, BpeScratch& scratch,
                    std::vector<std::uint32_t>& out) const;
  void append_part(std::string_view part, BpeScratch& scratch,
                   std::vector<std::uint32_t>& out) const;
  void merge(BpeScratch& scratch) const;
  /// Notes the merge of the symbol at a position with the one behind, where there is one.
  void wait_for(std::uint32_t position, BpeScratch& scratch) const;
  /// Merges the pair that waits at the front, unless one of the two is part of another token by
  /// now.
  void merge_next(BpeScratch& scratch) const;

  TokenTable tokens_;
  BpeOptions options_;
  MergeTable merges_;
  JoinTable joins_;
  std::array<std::optional<std::uint32_t>, 256> byte_symbols_;  ///< of `BpeOptions::bytes`, or of
                                                                ///< `byte_fallback`
  bool divisible_ = true;  ///< whether words may be merged in parts
};

}  // namespace pptrain
