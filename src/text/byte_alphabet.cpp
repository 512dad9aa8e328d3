#include "text/byte_alphabet.hpp"

#include <array>

#include "text/utf8.hpp"

namespace pptrain {
namespace {

constexpr char32_t first_stand_in = 0x100;
constexpr std::size_t num_stand_ins = 68;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> characters = {};
  char32_t next = first_stand_in;
  for (unsigned byte = 0; byte < 256; ++byte)
    characters[byte] = stands_for_itself(byte) ? byte : next++;
  return characters;
}

constexpr std::array<char32_t, 256> characters = make_characters();

constexpr std::array<unsigned char, num_stand_ins> make_stood_for() {
  std::array<unsigned char, num_stand_ins> bytes = {};
  for (unsigned byte = 0; byte < 256; ++byte)
    if (characters[byte] >= first_stand_in)
      bytes[characters[byte] - first_stand_in] = static_cast<unsigned char>(byte);
  return bytes;
}

constexpr std::array<unsigned char, num_stand_ins> stood_for = make_stood_for();

}  // namespace

char32_t character_of_byte(unsigned char byte) { return characters[byte]; }

std::optional<unsigned char> byte_of_character(char32_t character) {
  if (character < first_stand_in)
    return stands_for_itself(character) ? std::optional(static_cast<unsigned char>(character))
                                        : std::nullopt;
  const std::size_t index = character - first_stand_in;
  return index < num_stand_ins ? std::optional(stood_for[index]) : std::nullopt;
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = code_point_at(text, at);
    const std::optional<unsigned char> byte = byte_of_character(character.value);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    at += character.size;
  }
  return bytes;
}

}  // namespace pptrain
