#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pptrain {

/// A character of a text in UTF-8, and how many bytes it takes there.
struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;
};

/// The character that begins at `text[at]`, of a text that is UTF-8. It ends within the text in any
/// case.
CodePoint code_point_at(std::string_view text, std::size_t at);

/// The character that ends before `text[end]`, of a text that is UTF-8; `end` is at least 1.
CodePoint code_point_before(std::string_view text, std::size_t end);

/// Appends a character in UTF-8.
void append_utf8(std::string& text, char32_t character);

/// Whether all bytes are UTF-8: no cut or overlong sequences, no surrogates, nothing above
/// U+10FFFF.
bool is_utf8(std::string_view bytes);

/// A text whose wrong bytes were replaced.
struct RepairedText {
  std::string text;
  std::size_t replaced = 0;  ///< how many characters U+FFFD were put in
};

/// The bytes as UTF-8, with U+FFFD in place of each longest run that begins a character and does
/// not end it, and of each byte that begins none: what Python's `errors="replace"` and Unicode's
/// recommendation (chapter 3, U+FFFD) do.
RepairedText repaired_utf8(std::string_view bytes);

/// Whether Unicode says White_Space of the character.
bool is_white_space(char32_t character);

}  // namespace pptrain
