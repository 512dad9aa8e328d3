#include "text/split.hpp"

#include "support/complaint.hpp"
#include "text/normalizer.hpp"
#include "text/oniguruma.hpp"
#include "text/pre_tokenizer.hpp"

namespace pptrain {
namespace {

std::string cut(const std::string& text, const std::string& expression, SplitBehavior behavior,
                bool invert = false) {
  MatchMemory memory;
  std::string pieces;
  for (const TextRange& piece :
       split({Pattern::regex(expression, "here"), behavior, invert}, text, memory))
    pieces += (pieces.empty() ? "" : "|") + text.substr(piece.begin, piece.end - piece.begin);
  return pieces;
}

std::string refused_expression(const std::string& expression) {
  return complaint_of([&] { Pattern::regex(expression, "t.json: pattern"); });
}

TEST_CASE("what matches stands alone, goes, or joins its neighbours", "[split]") {
  const std::string text = "--ab-c---d";
  CHECK(cut(text, "-", SplitBehavior::isolated) == "-|-|ab|-|c|-|-|-|d");
  CHECK(cut(text, "-", SplitBehavior::removed) == "ab|c|d");
  CHECK(cut(text, "-", SplitBehavior::contiguous) == "--|ab|-|c|---|d");
  CHECK(cut(text, "-", SplitBehavior::merged_with_previous) == "-|-|ab-|c-|-|-|d");
  CHECK(cut(text, "-", SplitBehavior::merged_with_next) == "-|-ab|-c|-|-|-d");
  CHECK(cut(text, "-", SplitBehavior::removed, true) == "-|-|-|-|-|-");
  CHECK(cut(text, "[a-d]+", SplitBehavior::isolated, true) == "--|ab|-|c|---|d");
  CHECK(cut("", "-", SplitBehavior::isolated).empty());
  CHECK(cut("abc", "-", SplitBehavior::isolated) == "abc");
}

TEST_CASE("empty matches cut once and end", "[split]") {
  CHECK(cut("a\u20acb", "x*", SplitBehavior::isolated) == "a|\u20ac|b");
  CHECK(cut("axxb", "x*", SplitBehavior::isolated) == "a|xx|b");
  CHECK(cut("abab", "(?=b)", SplitBehavior::isolated) == "a|ba|b");
}

TEST_CASE("classes of characters are Oniguruma's", "[split]") {
  // U+180E was white space in Unicode 6.2, and is to PCRE2's own \s.
  CHECK(cut("a\u180eb\u3000c\u0085d", "\\s", SplitBehavior::removed) == "a\u180eb|c|d");
  CHECK(cut("e\u0301_\u203f1-\u24d0", "\\w+", SplitBehavior::isolated) ==
        "e\u0301_\u203f1|-|\u24d0");
  CHECK(cut("a b", "\\S+", SplitBehavior::removed) == " ");
  CHECK(cut("1\u0661\u2167", "\\d", SplitBehavior::removed) == "\u2167");
  CHECK(cut("a-b", "[^\\w]", SplitBehavior::removed) == "a|b");
  CHECK(cut("x'Sx'\u017fx", "(?i:'s)", SplitBehavior::removed) == "x|x|x");
  CHECK(cut("a\nb", "^b", SplitBehavior::isolated) == "a\n|b");
  CHECK(cut("\u4e00A", "\\u4E00|\\x41", SplitBehavior::isolated) == "\u4e00|A");
  CHECK(cut("a{b}", "{b}", SplitBehavior::removed) == "a");
}

TEST_CASE("expressions that other libraries read in another way are refused", "[split]") {
  for (const char* expression :
       {"[a[bc]]", "[a&&b]", "a{1,3}+", "a{,3}", "(a)\\1", "\\h", "a(?i)b", "\\bword", "(?s:.)",
        "[]a]", "[\\W]", "[[:alpha:]]", "\\xff", "(*UTF)a", "\\p{Is Greek}", "\\u12"}) {
    INFO(expression);
    CHECK(refused_expression(expression).find("t.json: pattern: the pattern has") == 0);
  }
  CHECK(refused_expression("(a").find("cannot be read (missing closing parenthesis") !=
        std::string::npos);
  CHECK(refused_expression("\\p{Nonsense}").find("cannot be read") != std::string::npos);
  CHECK(to_pcre2("[^\\r\\n\\p{L}]?+\\p{N}{1,3}(?!\\S)", "") ==
        "[^\\r\\n\\p{L}]?+\\p{N}{1,3}(?!\\P{White_Space})");
}

TEST_CASE("a pattern that would take for ever is given up", "[split]") {
  MatchMemory memory;
  const Pattern pattern = Pattern::regex("(a+)+(a+)+(a+)+[bc]", "here");
  CHECK(complaint_of([&] { pattern.find(std::string(3000, 'a'), 0, memory); }).find("gives up") !=
        std::string::npos);
}

TEST_CASE("texts that steps make ever longer are refused", "[normalizer]") {
  MatchMemory memory;
  Normalizer normalizer;
  for (int i = 0; i < 40; ++i) {
    const std::string where = "t.json: step " + std::to_string(i);
    normalizer.add(ReplaceText{Pattern::literal("a", where), "aa"}, where);
  }
  CHECK(complaint_of([&] { normalizer.normalized("a", memory); }) ==
        "t.json: step 12: makes more than 4112 bytes of 1 (a text may become 16 times as long and "
        "4096 bytes longer); "
        "leave the steps out that make texts longer, or use another tokenizer");
  CHECK(complaint_of([&] {
          normalizer.normalized(std::string(1000000, 'a'), memory);
        }).starts_with("t.json: step 4: "));
  CHECK(normalizer.normalized(std::string(1000, 'b'), memory) == std::string(1000, 'b'));
  Normalizer once;
  once.add(PrependText{std::string(4000, 'x')}, "t.json");
  CHECK(once.normalized("a", memory).size() == 4001);
}

TEST_CASE("pieces that steps make ever longer are refused", "[split]") {
  MatchMemory memory;
  PreTokenizer steps;
  for (int i = 0; i < 40; ++i) steps.add(ByteCharacters(), "t.json: step " + std::to_string(i));
  CHECK(complaint_of([&] {
          steps.pieces("\u00e9", true, memory);
        }).starts_with("t.json: step 10: makes more than 4128"));
  CHECK(steps.pieces("a", true, memory).pieces.front().text == "a");
}

TEST_CASE("normal forms", "[normalizer]") {
  MatchMemory memory;
  const auto in = [&](UnicodeForm form, const std::string& text) {
    Normalizer normalizer;
    normalizer.add(form, "t.json");
    return normalizer.normalized(text, memory);
  };
  CHECK(in(UnicodeForm::nfc, "cafe\u0301 \u00e9") == "caf\u00e9 \u00e9");
  CHECK(in(UnicodeForm::nfd, "\u00e9") == "e\u0301");
  CHECK(in(UnicodeForm::nfkc, "\ufb01\u00b2") == "fi2");
  CHECK(in(UnicodeForm::nfkd, "\u1e9b\u0323") == "s\u0323\u0307");
  CHECK(in(UnicodeForm::nfc, std::string("a\0e\u0301", 5)) == std::string("a\0\u00e9", 4));
  CHECK(in(UnicodeForm::nfc, "").empty());
}

}  // namespace
}  // namespace pptrain
