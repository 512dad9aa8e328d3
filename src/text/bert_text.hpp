#pragma once

#include <string>

namespace pptrain {

/// What BERT does to a text before it is cut (Devlin et al., 2019; `BertNormalizer` of Hugging
/// Face's library).
struct BertText {
  bool cleans = true;           ///< control characters away; what is white becomes a space
  bool parts_chinese = true;    ///< spaces around each Chinese character
  bool strips_accents = false;  ///< decomposed (NFD), then marks that take no room away
  bool lowers = true;           ///< capital letters become small ones

  /// The text, which is UTF-8, after these steps in their order.
  std::string normalized(const std::string& text) const;
};

}  // namespace pptrain
