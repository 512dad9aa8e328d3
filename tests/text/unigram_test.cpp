// Unigram models: the most probable cut of a word, and the table of characters that goes with them.
#include "text/unigram.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "text/character_map.hpp"
#include "text/utf8.hpp"

using namespace pptrain;

namespace {

UnigramModel model_of(const std::vector<std::pair<std::string, double>>& scored,
                      bool byte_fallback = false) {
  TokenTable tokens;
  UnigramOptions options;
  for (const auto& [text, score] : scored) {
    REQUIRE(tokens.add(text, static_cast<std::uint32_t>(options.scores.size())));
    options.scores.push_back(score);
  }
  options.byte_fallback = byte_fallback;
  return {std::move(tokens), std::move(options)};
}

using Tokens = std::vector<std::uint32_t>;

Tokens tokens_of(const UnigramModel& model, std::string_view word) {
  Tokens out;
  model.append(word, out);
  return out;
}

std::string normalized(const CharacterMap& map, std::string_view text) {
  return map.normalized(text, GrowthLimit(text.size(), "t.json"));
}

void append_unit(std::string& bytes, std::uint32_t unit) {
  for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>((unit >> (8 * i)) & 0xFFU);
}

std::string table_of_units(const std::string& units, const std::string& texts) {
  std::string bytes;
  append_unit(bytes, static_cast<std::uint32_t>(units.size()));
  return bytes + units + texts;
}

/// A table by which a character becomes the text at a place of `texts`.
std::string table_of(char character, std::uint32_t place, const std::string& texts) {
  const auto label = static_cast<std::uint32_t>(static_cast<unsigned char>(character));
  std::vector<std::uint32_t> units(512);
  units[0] = 256U << 10U;                                 // children from 256 on
  units[256U ^ label] = label | 0x100U | (label << 10U);  // a leaf, at 256
  units[256] = 0x80000000U | place;
  std::string bytes;
  for (const std::uint32_t unit : units) append_unit(bytes, unit);
  return table_of_units(bytes, texts);
}

/// The score of the best cut of a word, found by trying every one.
double best_score(const std::vector<std::pair<std::string, double>>& scored,
                  std::string_view word) {
  if (word.empty()) return 0.0;
  double best = -HUGE_VAL;
  for (const auto& [text, score] : scored) {
    if (!text.empty() && word.starts_with(text))
      best = std::max(best, score + best_score(scored, word.substr(text.size())));
  }
  return best;
}

}  // namespace

TEST_CASE("a word is cut where the sum of the scores is largest", "[unigram]") {
  const std::vector<std::pair<std::string, double>> scored = {
      {"<unk>", 0.0}, {"a", -2.0},   {"b", -2.5},   {"ab", -4.0},
      {"ba", -3.5},   {"aba", -6.5}, {"abab", -7.0}};
  const UnigramModel model = model_of(scored);
  for (unsigned word = 0; word < 256; ++word) {
    std::string text;
    for (unsigned bits = word; bits > 1; bits >>= 1U) text += (bits & 1U) != 0 ? 'a' : 'b';
    double score = 0.0;
    std::string together;
    for (const std::uint32_t token : tokens_of(model, text)) {
      score += scored[token].second;
      together += scored[token].first;
    }
    INFO(text);
    CHECK(together == text);
    CHECK(score == Approx(best_score(scored, text)).margin(1e-12));
  }
  CHECK(tokens_of(model, "abab") == Tokens{6});
}

TEST_CASE("unknown characters beside each other are one token, or their bytes", "[unigram]") {
  const std::vector<std::pair<std::string, double>> scored = {
      {"<unk>", 0.0}, {"a", -1.0}, {"<0xC3>", -9.0}, {"<0xA9>", -9.0}};
  CHECK(tokens_of(model_of(scored), "xyaz") == Tokens{0, 1, 0});
  CHECK(tokens_of(model_of(scored, true), "a\u00e9") == Tokens{1, 2, 3});
  CHECK(tokens_of(model_of(scored, true), "a\u00e8") == Tokens{1, 0});  // there is no token for A8
  CHECK(tokens_of(model_of(scored), "").empty());
}

TEST_CASE(
    "what is no table of characters is refused, and a table cut off replaces nothing beyond its "
    "end",
    "[unigram]") {
  CharacterMap map;
  CHECK(map.read("") != "");
  CHECK(map.read(std::string("\x05\0\0\0abcde", 9)) != "");
  CHECK(map.read(std::string("\x08\0\0\0abcd", 8)) != "");
  CHECK(normalized(map, "as it is") == "as it is");
  // One unit, whose offset leads out of the array.
  CHECK(map.read(std::string("\x04\0\0\0\xff\xff\xff\x7f", 8)) == "");
  CHECK(normalized(map, "a\u00e9") == "a\u00e9");
}

TEST_CASE("a table replaces characters by texts that are UTF-8 from their beginning on",
          "[unigram]") {
  const std::string texts("\xC3\xA9t\xC3\xA9\0x\0", 8);
  CharacterMap map;
  REQUIRE(map.read(table_of('a', 0, texts)) == "");
  CHECK(normalized(map, "bab") == "b\u00e9t\u00e9b");
  REQUIRE(map.read(table_of('a', 2, texts)) == "");
  CHECK(normalized(map, "bab") == "bt\u00e9b");
  REQUIRE(map.read(table_of('a', 8, texts)) == "");
  CHECK(normalized(map, "bab") == "bb");
  const std::string beyond = "its trie leads to places where no text begins";
  for (const unsigned place : {1U, 4U, 9U, 0x7FFFFFFFU})
    CHECK(map.read(table_of('a', place, texts)) == beyond);
  // The bytes of a text that lead out of a word were read and written behind it.
  for (const char* wrong :
       {"\xF0", "\xC3", "a\xF0", "\xF0\x90", "\xED\xA0\x80", "\xC0\xAF", "\xFF", "\x80"})
    CHECK(map.read(table_of('a', 0, std::string(wrong) + '\0')) == "its texts are no UTF-8");
  CHECK(normalized(map, "a") == "a");
}

/// A table of a few keys of one byte or two, with offsets, texts and places that may be wrong.
std::string drawn_table(std::mt19937& random, const std::vector<std::string>& parts) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  std::string texts;
  for (std::uint32_t i = 1 + below(6); i > 0; --i)
    texts += parts[below(parts.size())] + std::string(below(2), '\0');
  std::vector<std::uint32_t> units(256);
  const std::uint32_t root = below(16);
  units[0] = root << 10U;
  for (std::uint32_t keys = 1 + below(4); keys > 0; --keys) {
    std::uint32_t node = root;
    for (std::uint32_t bytes = 1 + below(2); bytes > 0; --bytes) {
      const std::uint32_t byte = std::vector<std::uint32_t>{'a', 0xC3, 0xA9, 0xF0, 0x9F}[below(5)];
      const std::uint32_t offset = 1 + below(15), child = node ^ byte;
      units[child] = byte | (bytes == 1 ? 0x100U : 0U) | (offset << 10U);
      node = child ^ offset;
    }
    units[node] = 0x80000000U | below(texts.size() + 2);
  }
  std::string bytes;
  for (const std::uint32_t unit : units) append_unit(bytes, unit);
  return table_of_units(bytes, texts);
}

TEST_CASE("drawn tables are refused, or make UTF-8 of UTF-8", "[unigram]") {
  std::mt19937 random(7);
  const std::vector<std::string> sound = {"a", "b", "\u00e9", "\U0001f600", ""};
  std::vector<std::string> parts = sound;
  parts.insert(parts.end(), {"\xF0\x9F", "\xC3"});
  int read = 0, changed = 0, torn = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    CharacterMap map;
    if (!map.read(drawn_table(random, draw % 4 > 0 ? sound : parts)).empty()) continue;
    ++read;
    std::string text;
    for (int i = 0; i < 8; ++i) text += sound[random() % sound.size()];
    const std::string made = normalized(map, text);
    torn += is_utf8(made) ? 0 : 1;
    changed += made != text ? 1 : 0;
  }
  CHECK(torn == 0);
  CHECK(read > 1000);
  CHECK(changed > 500);
}

TEST_CASE("a table that leads in circles is come through once", "[unigram]") {
  // Every unit leads to the array's beginning under a label of its own, none is a leaf.
  std::string units;
  for (std::uint32_t i = 0; i < 256; ++i) append_unit(units, i | (i << 10U));
  CharacterMap map;
  CHECK(map.read(table_of_units(units, "x")) == "");
  CHECK(normalized(map, "abc") == "abc");
}

TEST_CASE("a word that is no UTF-8 is cut within its bytes", "[unigram]") {
  const UnigramModel model = model_of({{"<unk>", 0.0}, {"a", -1.0}});
  for (const char* word : {"\xF0", "a\xF0", "\xF0\x90", "\xE2\x82", "a\xC3", "\x80\x80"})
    CHECK(tokens_of(model, word).size() <= 2);
}

TEST_CASE("base 64 is read as RFC 4648 has it", "[unigram]") {
  CHECK(from_base64("Zm9vYmFy") == "foobar");
  CHECK(from_base64("Zm9vYg==") == "foob");
  CHECK(from_base64("Zm9vYmE=") == "fooba");
  CHECK(from_base64("Zm9").empty());
  CHECK(from_base64("Zm 9").empty());
}
