#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pptrain {

/// The character that stands for a byte in the tokens of byte-level tokenizers (GPT-2). A byte that
/// prints in Latin-1 stands for itself; the other 68 have, in their order, the characters from
/// U+0100 on, so that no token has a space or a control character.
char32_t character_of_byte(unsigned char byte);

/// The byte that a character stands for; nothing where it stands for none.
std::optional<unsigned char> byte_of_character(char32_t character);

/// The bytes that the characters of a text in UTF-8 stand for; nothing where one of them stands for
/// none.
std::optional<std::string> bytes_of_characters(std::string_view text);

}  // namespace pptrain
