// Unigram models: the most probable cut of a word, and the table of characters that goes with them.
#include "text/unigram.hpp"

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"
#include "text/character_map.hpp"

using namespace pptrain;

namespace {

UnigramModel model_of(const std::vector<std::pair<std::string, double>>& scored, bool byte_fallback = false) {
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

/// The score of the best cut of a word, found by trying every one.
double best_score(const std::vector<std::pair<std::string, double>>& scored, std::string_view word) {
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
      {"<unk>", 0.0}, {"a", -2.0}, {"b", -2.5}, {"ab", -4.0}, {"ba", -3.5}, {"aba", -6.5}, {"abab", -7.0}};
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

TEST_CASE("what is no table of characters is refused, and a table cut off replaces nothing beyond its end",
          "[unigram]") {
  CharacterMap map;
  CHECK(!map.read(""));
  CHECK(!map.read(std::string("\x05\0\0\0abcde", 9)));
  CHECK(!map.read(std::string("\x08\0\0\0abcd", 8)));
  CHECK(map.normalized("as it is") == "as it is");
  // One unit, whose offset leads out of the array.
  CHECK(map.read(std::string("\x04\0\0\0\xff\xff\xff\x7f", 8)));
  CHECK(map.normalized("a\u00e9") == "a\u00e9");
}

TEST_CASE("base 64 is read as RFC 4648 has it", "[unigram]") {
  CHECK(from_base64("Zm9vYmFy") == "foobar");
  CHECK(from_base64("Zm9vYg==") == "foob");
  CHECK(from_base64("Zm9vYmE=") == "fooba");
  CHECK(from_base64("Zm9").empty());
  CHECK(from_base64("Zm 9").empty());
}
