#include "text/chunk.hpp"

#include <random>

#include "text/tokenizers.hpp"

namespace pptrain {
namespace {

using Tokens = std::vector<std::uint32_t>;

/// Lines of words in several scripts, of numbers, of space alone and of added tokens.
std::string drawn_text(std::mt19937& random, std::size_t bytes) {
  static const std::vector<std::string> parts = {
      "the",          "pipeline", "12345",     "caf\u00e9", "e\u0301",
      "\u8a00\u8a9e", " ",        "  ",        "\t",        "\n",
      "\n\n",         "\r\n",     "don't",     "...",       "<|endoftext|>",
      "<s>",          "x+y",      "\U0001f600"};
  std::string text;
  while (text.size() < bytes)
    text += parts[random() % parts.size()] + (random() % 3 == 0 ? "\n" : " ");
  return text;
}

Tokens by_chunks(const Tokenizer& tokenizer, const std::string& text, std::size_t wanted,
                 int& chunks) {
  TextEncoder encoder(tokenizer);
  Tokens tokens;
  for (TextChunk chunk; chunk.end < text.size(); ++chunks) {
    const std::size_t begin = chunk.end;
    chunk = next_chunk(text, chunk, wanted, encoder);
    CHECK(chunk.begin == begin);
    TextEncoder other(tokenizer);  // as another thread would
    append_chunk(text, chunk, other, tokens);
  }
  return tokens;
}

TEST_CASE("the tokens of chunks are those of the text", "[chunk]") {
  std::mt19937 random(3);
  for (const std::string& folder : tokenizer_folders(test_data("tokenizers"))) {
    const Tokenizer tokenizer = Tokenizer::read(folder);
    const std::string text = drawn_text(random, 40000);
    const Tokens whole = tokenizer.encode(text);
    for (const std::size_t wanted : {1, 100, 3000}) {
      INFO(folder << " in chunks of " << wanted);
      int chunks = 0;
      CHECK(by_chunks(tokenizer, text, wanted, chunks) == whole);
      CHECK(chunks > (wanted < 3000 ? 50 : 8));
    }
  }
}

TEST_CASE("text without a place to cut is one chunk", "[chunk]") {
  nlohmann::json document = small_tokenizer();
  const auto chunks_of = [&](const std::string& text) {
    const Tokenizer tokenizer = tokenizer_of(document);
    int chunks = 0;
    CHECK(by_chunks(tokenizer, text, 500, chunks) == tokenizer.encode(text));
    return chunks;
  };
  CHECK(chunks_of(std::string(20000, 'a')) == 1);
  std::string lines;
  while (lines.size() < 20000) lines += "abc\nc\n";
  CHECK(chunks_of(lines) > 10);
  // Pieces of seven characters, whatever they are: where one begins depends on all the text before.
  document["pre_tokenizer"] = nlohmann::json::parse(
      R"({"type": "Split", "pattern": {"Regex": "[\\s\\S]{7}"}, "behavior": "Isolated", "invert": false})");
  chunks_of(lines);
  // A merge over the end of lines.
  document["pre_tokenizer"] = nullptr;
  document["model"]["vocab"]["\n"] = 6;
  document["model"]["vocab"]["\nc"] = 7;
  document["model"]["vocab"]["\na"] = 8;
  document["model"]["merges"] = nlohmann::json::parse(R"([["\n", "c"], ["\n", "a"]])");
  CHECK(chunks_of(lines) == 1);
}

}  // namespace
}  // namespace pptrain
