#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/split.hpp"

namespace pptrain {

/// A part of a text that is made tokens of by itself.
struct TextPiece {
  std::string_view text;
  bool first = false;  ///< begins where the whole text begins
};

/// Pieces, and the texts of those that are no part of what was cut.
struct TextPieces {
  std::vector<TextPiece> pieces;
  std::deque<std::string> changed;
  std::size_t changed_bytes = 0;
};

/// Where Metaspace puts its mark in front of a piece that has none.
enum class PrependScheme { always, first, never };

/// SentencePiece's convention: spaces become a mark, and pieces begin with it.
struct MetaspaceRule {
  std::string mark;
  PrependScheme prepend = PrependScheme::always;
  SplitRule split;
  bool splits = true;
};

/// A space in front of every piece that begins with none.
struct PrefixSpace {};

/// The characters that stand for the bytes of a piece (byte_alphabet.hpp) in their place.
struct ByteCharacters {};

/// Cuts a text, after the normalizer, into the pieces within which tokens are merged.
class PreTokenizer {
 public:
  using Step = std::variant<SplitRule, MetaspaceRule, PrefixSpace, ByteCharacters>;

  /// `where`: the step's place in its file.
  void add(Step step, std::string where) { steps_.push_back({std::move(step), std::move(where)}); }
  /// How many steps were added.
  std::size_t num_steps() const { return steps_.size(); }
  /// The pieces of a text that is UTF-8 and outlives them; `first`: the whole text begins with it.
  /// Throws `Error` (exit code 2) where all that steps have changed is beyond `GrowthLimit`.
  TextPieces pieces(std::string_view text, bool first, MatchMemory& memory) const;

 private:
  struct PlacedStep {
    Step step;
    std::string where;
  };

  std::vector<PlacedStep> steps_;
};

}  // namespace pptrain
