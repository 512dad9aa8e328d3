#pragma once

#include <string>

#include "text/utf8.hpp"

namespace pptrain {

/// The text, which is UTF-8, with `change(out, character)` for each of its characters.
template <class Change>
std::string changed_characters(const std::string& text, const Change& change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = code_point_at(text, at);
    at += character.size;
    change(out, character.value);
  }
  return out;
}

/// The text with capital letters as small ones, each by itself, whatever stands beside.
std::string lowered(const std::string& text);

/// The text without marks, those that take room and that take none (category M of Unicode).
std::string without_marks(const std::string& text);

}  // namespace pptrain
