#pragma once

#include <string>
#include <variant>
#include <vector>

#include "text/bert_text.hpp"
#include "text/character_map.hpp"
#include "text/growth.hpp"
#include "text/pattern.hpp"

namespace pptrain {

/// The normal forms of Unicode (Standard Annex 15).
enum class UnicodeForm { nfc, nfd, nfkc, nfkd };

/// The text, which is UTF-8, in a normal form.
std::string in_form(UnicodeForm form, std::string text);

/// Puts a text in front of what is not empty.
struct PrependText {
  std::string text;
};

/// Puts a text in place of every match.
struct ReplaceText {
  Pattern pattern;
  std::string text;
};

/// Takes white space away from the ends of a text.
struct StripText {
  bool left = true;
  bool right = true;
};

/// Takes marks away, as `without_marks` does.
struct StripMarks {};

/// Makes capital letters small ones, as `lowered` does.
struct LowerText {};

/// Changes a text before it is cut into pieces.
class Normalizer {
 public:
  using Step = std::variant<UnicodeForm, PrependText, ReplaceText, BertText, StripText, StripMarks,
                            LowerText, CharacterMap>;

  /// `where`: the step's place in its file.
  void add(Step step, std::string where) { steps_.push_back({std::move(step), std::move(where)}); }
  /// How many steps were added; with none the text stays as it is.
  std::size_t num_steps() const { return steps_.size(); }
  /// The text, which is UTF-8, after all steps; so is the result. Throws `Error` (exit code 2)
  /// where a step goes beyond `GrowthLimit`.
  std::string normalized(std::string text, MatchMemory& memory) const;

 private:
  struct PlacedStep {
    Step step;
    std::string where;
  };

  std::vector<PlacedStep> steps_;
};

/// The text with every match replaced. Throws `Error` (exit code 2) where that is beyond `limit`.
std::string replaced_matches(const ReplaceText& rule, const std::string& text,
                             const GrowthLimit& limit, MatchMemory& memory);

}  // namespace pptrain
