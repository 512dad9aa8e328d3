#include "base/names.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("text from outside is cut to a screen and does nothing to a terminal", "[base]") {
  CHECK(shown("layers = 3\nheads") == "layers = 3\nheads");
  CHECK(shown("\033[31mred\x7f") == "\\x1b[31mred\\x7f");
  const std::string cut = shown("begin" + std::string(1000000, 'k') + "end");
  CHECK(cut.size() < 700);
  CHECK(cut.starts_with("begink"));
  CHECK(cut.ends_with("kend"));
  CHECK(cut.find("[999408 bytes left out]") != std::string::npos);
  std::string accents;
  for (int i = 0; i < 1000; ++i) accents += "\u00e9";
  const std::string whole = shown(accents);  // no half characters
  CHECK(whole.find("\u00e9 [") != std::string::npos);
  CHECK(whole.find("] \u00e9") != std::string::npos);
}

TEST_CASE("words are quoted for a shell where they must be", "[base]") {
  CHECK(shell_word("outputs/gpt2/2026-11-22_05-27-17") == "outputs/gpt2/2026-11-22_05-27-17");
  CHECK(shell_word("job.name=a b") == "'job.name=a b'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(shell_word("") == "''");
}

TEST_CASE("the nearest name is suggested only when it may be meant", "[base]") {
  const std::vector<std::string> keys = {"learning_rate", "weight_decay", "name"};
  CHECK(nearest_name("learning_rte", keys) == "learning_rate");
  CHECK(nearest_name("nmae", keys) == "name");
  CHECK(nearest_name("xyzzy_plugh", keys).empty());
}

TEST_CASE("a suggestion asks for the nearest name, or says something else where none is near",
          "[base]") {
  CHECK(did_you_mean("nmae", {"weight_decay", "name"}, "see the list") == "did you mean \"name\"?");
  CHECK(did_you_mean("xyzzy_plugh", {"weight_decay", "name"}, "see the list") == "see the list");
  CHECK(join({"a", "b", "c"}) == "a, b, c");
  CHECK(join({"a", "b"}, " or ") == "a or b");
  CHECK(join({}).empty());
}

TEST_CASE("text is broken between words, and a word is not cut", "[base]") {
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("one two three", 6) == "one\ntwo\nthree");
  CHECK(wrapped("one two", 2) == "one\ntwo");
  CHECK(wrapped("a   b\nlonger words", 8) == "a   b\nlonger\nwords");  // short lines stay
  CHECK(wrapped("one two three four", 7, "  ") == "one two\n  three\n  four");
  CHECK(wrapped("one two three four", 9, "  ") == "one two\n  three\n  four");
  CHECK(wrapped("one two three four", 10, "  ") == "one two\n  three\n  four");
  CHECK(wrapped("one two three four", 12, "  ") == "one two\n  three four");
  CHECK(wrapped("unbreakable it is", 5, "  ") == "unbreakable\n  it\n  is");
}

TEST_CASE("empty lines of text stay, the first ones too", "[base]") {
  CHECK(wrapped("\n\none two\n\nthree", 3) == "\n\none\ntwo\n\nthree");
  CHECK(wrapped("\n\none two\n\nthree", 3, "  ") == "\n\none\n  two\n\nthree");
  CHECK(join({"", "a", "", "b"}) == ", a, , b");
}

TEST_CASE("the width of text is counted in characters", "[base]") {
  CHECK(num_characters("a\u00e9\u20ac\U0001F600") == 4);
  CHECK(num_characters("") == 0);
  const std::string word(3, 'x');
  const std::string accents = "\u00e9\u00e9\u00e9";
  CHECK(wrapped(accents + " " + accents + " " + accents, 7) ==
        accents + " " + accents + "\n" + accents);
  CHECK(wrapped(accents + " " + accents + " " + accents, 7, "\u2013 ") ==
        accents + " " + accents + "\n\u2013 " + accents);
  CHECK(wrapped(accents + " " + word, 7) == accents + " " + word);
  CHECK(wrapped(accents + " " + word, 6, "  ") == accents + "\n  " + word);
}

TEST_CASE("bytes that are no UTF-8 are shown by number", "[base]") {
  CHECK(shown("a\xff"
              "b") ==
        "a\\xff"
        "b");
  CHECK(shown("\xe2\x82") == "\\xe2\\x82");  // the beginning of a character
  CHECK(shown("\u20ac\t") == "\u20ac\\x09");
}

}  // namespace
}  // namespace pptrain
