#include "data/byte_tokenizer.hpp"

#include "data/files.hpp"
#include "data/token_origin.hpp"
#include "support/catch.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {
namespace {

std::string all_bytes() {
  std::string text;
  for (int byte = 0; byte < 128; ++byte) text += static_cast<char>(byte);
  return text + "\u00e9 \u20ac \U0001f600  two  spaces\n";
}

TEST_CASE("a tokenizer of bytes makes a token of every byte, and is known as that of text",
          "[tokenize]") {
  const TestFolder folder("byte_tokenizer");
  const Tokenizer tokenizer =
      Tokenizer::read(folder.write("tokenizer.json", byte_tokenizer_json(256)));
  CHECK(tokenizer.vocabulary_size() == 256);
  CHECK(tokenizer_digest(tokenizer) == byte_tokens_digest());
  const std::string text = all_bytes();
  const std::vector<std::uint32_t> tokens = tokenizer.encode(text);
  REQUIRE(tokens.size() == text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    CHECK(tokens[i] == static_cast<unsigned char>(text[i]));
  CHECK(tokenizer.decode(tokens) == text);
}

TEST_CASE("with 257 tokens the last one ends a document", "[tokenize]") {
  const TestFolder folder("byte_tokenizer_257");
  const Tokenizer tokenizer =
      Tokenizer::read(folder.write("tokenizer.json", byte_tokenizer_json(257)));
  CHECK(tokenizer.vocabulary_size() == 257);
  CHECK(tokenizer.encode(std::string("a") + byte_document_end + "b") ==
        std::vector<std::uint32_t>{'a', 256, 'b'});
}

}  // namespace
}  // namespace pptrain
