#pragma once

#include <string>
#include <variant>
#include <vector>

#include "text/normalizer.hpp"

namespace pptrain {

/// Characters back to the bytes that they stand for (byte_alphabet.hpp), over all tokens.
struct DecodeByteLevel {};
/// Tokens `<0x41>` back to bytes, several in a row together.
struct DecodeByteFallback {};
/// All tokens as one.
struct DecodeFuse {};
/// At most `start` and `stop` times the character at the ends of a token away.
struct DecodeStrip {
  char32_t character = U' ';
  std::size_t start = 0;
  std::size_t stop = 0;
};
/// Marks back to spaces, and away in the first token where they were put in front.
struct DecodeMetaspace {
  char32_t mark = 0x2581;
  bool prepended = true;
};

/// Spaces between tokens but in front of those that go on with a word, whose prefix goes; with
/// `cleans_up` also no spaces in front of punctuation marks and the ends of English contractions.
struct DecodeWordPiece {
  std::string inside_prefix = "##";
  bool cleans_up = true;
};

/// Makes text of the texts of tokens.
class Decoder {
 public:
  using Step = std::variant<DecodeByteLevel, DecodeByteFallback, DecodeFuse, DecodeStrip,
                            DecodeMetaspace, DecodeWordPiece, ReplaceText>;

  /// `where`: the step's place in its file.
  void add(Step step, std::string where) { steps_.push_back({std::move(step), std::move(where)}); }
  /// How many steps were added.
  std::size_t num_steps() const { return steps_.size(); }
  /// What is between tokens when there is no step.
  bool separates() const { return steps_.empty(); }
  /// The text of tokens, which are UTF-8; bytes that are none become U+FFFD. Throws `Error` (exit
  /// code 2) where a step goes beyond `GrowthLimit`.
  std::string text(std::vector<std::string> tokens, MatchMemory& memory) const;

 private:
  struct PlacedStep {
    Step step;
    std::string where;
  };

  std::vector<PlacedStep> steps_;
};

}  // namespace pptrain
