#pragma once

#include <string>
#include <variant>
#include <vector>

#include "text/bert_text.hpp"
#include "text/character_map.hpp"
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

/// Changes a text before it is cut into pieces.
class Normalizer {
 public:
  using Step = std::variant<UnicodeForm, PrependText, ReplaceText, BertText, StripText, CharacterMap>;

  void add(Step step) { steps_.push_back(std::move(step)); }
  /// The text, which is UTF-8, after all steps.
  std::string normalized(std::string text, MatchMemory& memory) const;

 private:
  std::vector<Step> steps_;
};

/// The text with every match replaced.
std::string replaced_matches(const ReplaceText& rule, const std::string& text, MatchMemory& memory);

}  // namespace pptrain
