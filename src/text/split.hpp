#pragma once

#include <string_view>
#include <vector>

#include "text/pattern.hpp"

namespace pptrain {

/// What becomes of the parts of a text that match, beside those between them.
enum class SplitBehavior {
  isolated,              ///< a piece each
  removed,               ///< left out
  merged_with_previous,  ///< the end of the piece before
  merged_with_next,      ///< the beginning of the piece behind
  contiguous,            ///< one piece for all that follow one another
};

/// How text is cut into pieces.
struct SplitRule {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  ///< what lies between matches takes the place of matches
};

/// Cuts a text. Pieces come in their order and none is empty; nothing but removed parts is missing
/// between them.
std::vector<TextRange> split(const SplitRule& rule, std::string_view text, MatchMemory& memory);

}  // namespace pptrain
