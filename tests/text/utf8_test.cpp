#include "text/utf8.hpp"

#include <set>

#include "support/catch.hpp"

namespace pptrain {
namespace {

const std::string replacement = "\ufffd";

std::string repaired(const std::string& bytes) {
  const RepairedText text = repaired_utf8(bytes);
  CHECK(is_utf8(text.text));
  CHECK(is_utf8(bytes) == (text.replaced == 0));
  return text.text;
}

TEST_CASE("every character is written and read", "[utf8]") {
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "a";
    append_utf8(text, c);
    REQUIRE(is_utf8(text));
    REQUIRE(code_point_at(text, 1).value == c);
    REQUIRE(code_point_at(text, 1).size == text.size() - 1);
    REQUIRE(code_point_before(text, text.size()).value == c);
  }
}

TEST_CASE("wrong bytes are replaced run by run", "[utf8]") {
  CHECK(repaired("abc\u20ac") == "abc\u20ac");
  CHECK(repaired("a\xff"
                 "b") == "a" + replacement + "b");
  CHECK(repaired("\xe2\x82") == replacement);  // the beginning of a character
  CHECK(repaired("\xe2\x82"
                 "a") == replacement + "a");
  CHECK(repaired("\xf0\x9f\x98\xf0") == replacement + replacement);
  CHECK(repaired("\xc0\xaf") == replacement + replacement);                    // overlong
  CHECK(repaired("\xed\xa0\x80") == replacement + replacement + replacement);  // a surrogate
  CHECK(repaired("\xf4\x90\x80\x80").size() == 4 * replacement.size());        // above U+10FFFF
  CHECK(repaired("").empty());
}

TEST_CASE("white space is Unicode's", "[utf8]") {
  std::set<char32_t> space;
  for (char32_t c = 0; c < 0x110000; ++c)
    if (is_white_space(c)) space.insert(c);
  CHECK(space.size() == 25);  // PropList.txt
  CHECK(space.contains(U'\u3000'));
  CHECK_FALSE(space.contains(U'\u200b'));
}

}  // namespace
}  // namespace pptrain
