#include "text/byte_alphabet.hpp"

#include <set>

#include "support/catch.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

TEST_CASE("every byte has a character that is its own", "[byte_alphabet]") {
  std::set<char32_t> characters;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t character = character_of_byte(static_cast<unsigned char>(byte));
    CHECK_FALSE(is_white_space(character));
    CHECK(byte_of_character(character) == static_cast<unsigned char>(byte));
    characters.insert(character);
  }
  CHECK(characters.size() == 256);
  CHECK(character_of_byte(' ') == U'\u0120');
  CHECK(character_of_byte('\n') == U'\u010a');
  CHECK_FALSE(byte_of_character(U' '));
  CHECK_FALSE(byte_of_character(0x100 + 68));
  CHECK(bytes_of_characters("a\u0120\u00ff") == "a \xff");
  CHECK_FALSE(bytes_of_characters("a b"));
}

TEST_CASE("a byte that prints in Latin-1 stands for itself, and the others follow from U+0100 on",
          "[byte_alphabet]") {
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    // Controls, the space, the space that does not break, and the hyphen that is not seen.
    const bool prints =
        byte > 0x20 && byte != 0x7f && !(byte >= 0x80 && byte <= 0xa0) && byte != 0xad;
    CAPTURE(byte);
    CHECK(character_of_byte(static_cast<unsigned char>(byte)) == (prints ? byte : next++));
  }
  CHECK(next == 0x100 + 68);
  CHECK(bytes_of_characters("") == "");
  CHECK_FALSE(bytes_of_characters("a\u20ac"));
}

}  // namespace
}  // namespace pptrain
