// Tokenizers that tokenizers_test.py has trained and the tokens that Hugging Face's library makes
// with them.
#include "text/tokenizer.hpp"

#include <cstdlib>

#include "text/tokenizers.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::json;
using Tokens = std::vector<std::uint32_t>;

/// The recorded cases in the source, or those that the script has just made.
std::string recorded_folder() {
  const char* folder = std::getenv("PPTRAIN_TOKENIZER_CASES");
  return folder == nullptr ? test_data("tokenizers") : folder;
}

std::string text_of_case(const Json& recorded) {
  if (recorded.contains("text")) return recorded["text"];
  const std::string digits = recorded["hex"];
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

Tokens framed(const Tokenizer& tokenizer, const Tokens& tokens) {
  Tokens all = tokenizer.prefix();
  all.insert(all.end(), tokens.begin(), tokens.end());
  all.insert(all.end(), tokenizer.suffix().begin(), tokenizer.suffix().end());
  return all;
}

/// What the tokenizer makes of two texts: its tokens, and their types.
std::pair<Tokens, Tokens> paired(const Tokenizer& tokenizer, const Tokens& first,
                                 const Tokens& second) {
  std::pair<Tokens, Tokens> made;
  for (const PairPiece& piece : tokenizer.pair()) {
    const Tokens& tokens = !piece.text ? piece.tokens : *piece.text == 0 ? first : second;
    made.first.insert(made.first.end(), tokens.begin(), tokens.end());
    made.second.insert(made.second.end(), tokens.size(), piece.type);
  }
  return made;
}

TEST_CASE("tokens and texts are those of Hugging Face's library", "[recorded]") {
  int checked = 0, pairs = 0;
  for (const std::string& folder : tokenizer_folders(recorded_folder())) {
    const Tokenizer tokenizer = Tokenizer::read(folder);
    TextEncoder encoder(tokenizer);
    Tokens previous;
    for (const Json& recorded : Json::parse(content_of_file(folder + "/cases.json"))) {
      const std::string text = text_of_case(recorded);
      INFO(folder << ": " << recorded.dump().substr(0, 300));
      const Tokens expected = recorded["ids"];
      CHECK(tokenizer.encode(text) == expected);
      Tokens again;  // by one that remembers words
      encoder.append(text, again);
      CHECK(again == expected);
      CHECK(framed(tokenizer, expected) == recorded["framed"].get<Tokens>());
      CHECK(tokenizer.decode(expected) == recorded["decoded"].get<std::string>());
      CHECK(tokenizer.decode(expected, SpecialTokens::left_out) ==
            recorded["plain"].get<std::string>());
      if (recorded.contains("pair")) {
        const auto [tokens, types] = paired(tokenizer, previous, expected);
        CHECK(tokens == recorded["pair"].get<Tokens>());
        CHECK(types == recorded["types"].get<Tokens>());
        ++pairs;
      }
      previous = expected;
      ++checked;
    }
  }
  CHECK(checked > 1000);
  CHECK(pairs > 30);
}

TEST_CASE("bytes of every kind come back from byte-level tokens", "[tokenizer]") {
  const Tokenizer tokenizer = Tokenizer::read(test_data("tokenizers/gpt2"));
  std::string text;
  for (char32_t c = 0; c < 0x3000; c += 7) text += static_cast<char>(c % 0x80);
  text += "\u00e9\u0301\u20ac\U0001f600 <|endoftext|>";
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  CHECK(tokenizer.decode(tokenizer.encode(text), SpecialTokens::left_out) ==
        text.substr(0, text.size() - 13));
  CHECK(tokenizer.token("<|endoftext|>") == 0U);
  CHECK_FALSE(tokenizer.token("no such token"));
  CHECK(tokenizer.vocabulary_size() == 400);
  const Tokens no_tokens = {4000000000U, 100000U};
  CHECK(tokenizer.decode(no_tokens).empty());
}

/// The small tokenizer with two tokens more.
Tokenizer with_added_tokens() {
  Json document = small_tokenizer();
  document["added_tokens"] = Json::parse(R"([
    {"id": 6, "content": "<x>", "special": true, "normalized": false},
    {"id": 7, "content": "<y>", "normalized": false}])");
  return tokenizer_of(document);
}

TEST_CASE("tokens have their numbers and texts, added ones too", "[tokenizer]") {
  const Tokenizer tokenizer = with_added_tokens();
  using Texts = std::map<std::uint32_t, std::string>;
  CHECK(
      tokenizer.tokens() ==
      Texts{{0, "a"}, {1, "b"}, {2, "c"}, {3, " "}, {4, "ab"}, {5, "abc"}, {6, "<x>"}, {7, "<y>"}});
  CHECK((tokenizer.token("<y>") == 7U && tokenizer.token("ab") == 4U));
  CHECK(tokenizer.vocabulary_size() == 8);
  CHECK(tokenizer.decode(Tokens{4, 8, 6, 99, 2}) == "ab<x>c");
  Json document = small_tokenizer();
  document["model"]["vocab"]["abc"] = 20;
  CHECK(tokenizer_of(document).vocabulary_size() == 21);  // what a model needs for that token
}

TEST_CASE("an encoder appends to the tokens that are there, and what it has seen changes nothing",
          "[tokenizer]") {
  const Tokenizer tokenizer = with_added_tokens();
  TextEncoder encoder(tokenizer);
  Tokens tokens = {42};
  encoder.append("abc", tokens);
  encoder.append("<x>ab", tokens);
  encoder.append("abc", tokens);
  CHECK(tokens == Tokens{42, 5, 6, 4, 5});
}

TEST_CASE("bytes that are no UTF-8 count as U+FFFD, in text and in tokens", "[tokenizer]") {
  const Tokenizer tokenizer = Tokenizer::read(test_data("tokenizers/gpt2"));
  CHECK(tokenizer.encode("a\xff"
                         "b\xe2\x82") == tokenizer.encode("a\ufffdb\ufffd"));
  const Tokens euro = tokenizer.encode("\u20ac");
  REQUIRE(euro.size() > 1);
  CHECK(tokenizer.decode(euro) == "\u20ac");
  CHECK(tokenizer.decode(std::span(euro).first(1)) == "\ufffd");
}

}  // namespace
}  // namespace pptrain
