#include "data/token_origin.hpp"

#include "data/files.hpp"
#include "data/mixed_dataset.hpp"
#include "data/token_dataset.hpp"
#include "data/tokenize.hpp"
#include "data/vocabulary.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {
namespace {

const std::string gpt2 = test_data("tokenizers/gpt2");
const std::string llama = test_data("tokenizers/llama3");

std::string refused(const std::vector<TokenOrigin>& files) {
  return complaint_of([&] { check_same_tokenizer(files); });
}

TEST_CASE("a digest is that of what the tokens stand for", "[origin]") {
  const std::uint64_t of_gpt2 = tokenizer_digest(Tokenizer::read(gpt2));
  CHECK(of_gpt2 == tokenizer_digest(Tokenizer::read(gpt2 + "/tokenizer.json")));
  CHECK(of_gpt2 != tokenizer_digest(Tokenizer::read(llama)));
  CHECK(of_gpt2 != byte_tokens_digest());
  // A tokenizer that makes a token of every byte makes the tokens of text that is read byte by
  // byte.
  CHECK(tokenizer_digest(Tokenizer::read(source_file("inputs/models/llama-small"))) ==
        byte_tokens_digest());
  CHECK(digest_of_text(digest_text(of_gpt2)) == of_gpt2);
  CHECK(digest_text(1) == "0000000000000001");
  for (const char* text : {"", "1", "000000000000000g", "00000000000000001", "-000000000000001"})
    CHECK(digest_of_text(text) == 0);
}

TEST_CASE("token files say what made their tokens", "[origin]") {
  const TestFolder folder("origin");
  const std::string text = folder.write("a.txt", "the cat sat on the mat\n");
  const auto origin = [&](const TokenizeOptions& options) {
    tokenize_files(options);
    return TokenFile(options.output, "").tokenizer();
  };
  CHECK(origin({.texts = {text}, .output = folder.path("b.bin")}) == byte_tokens_digest());
  CHECK(origin({.texts = {text}, .output = folder.path("t.bin"), .tokenizer = gpt2}) ==
        tokenizer_digest(Tokenizer::read(gpt2)));
  CHECK(TokenFile(text, "").tokenizer() == byte_tokens_digest());
  // Others leave zeros behind the number of tokens, and what is without header says nothing.
  CHECK(TokenFile(folder.write_tokens("other.bin", {1, 2, 3}), "").tokenizer() == 0);
  CHECK(TokenFile(folder.write("bare.bin", "abcd"), "").tokenizer() == 0);
}

TEST_CASE("files of different tokenizers are refused together", "[origin]") {
  const TokenOrigin bytes = {"a.txt", byte_tokens_digest(), "c.toml:3"};
  const TokenOrigin own = {"b.bin", 0x123, "c.toml:4"}, other = {"c.bin", 0x124, "c.toml:5"};
  const TokenOrigin unknown = {"d.bin", 0, "c.toml:6"};
  CHECK_NOTHROW(check_same_tokenizer({}));
  CHECK_NOTHROW(check_same_tokenizer({unknown, bytes, bytes, unknown}));
  CHECK_NOTHROW(check_same_tokenizer({own, unknown, own}));
  CHECK(refused({unknown, bytes, own}) ==
        "c.toml:4: b.bin and a.txt are of different tokenizers (the former has tokens of tokenizer "
        "0000000000000123, "
        "the latter of bytes: a number stands for another text in each); make both by the model's "
        "tokenizer, `pptrain "
        "tokenize --tokenizer FOLDER`");
  CHECK(refused({own, unknown, other})
            .starts_with("c.toml:5: c.bin and b.bin are of different tokenizers"));
}

TEST_CASE("a dataset knows the origins of all its files", "[origin]") {
  const TestFolder folder("origins");
  const std::string text = folder.write("a.txt", "the cat sat on the mat\n");
  tokenize_files({.texts = {text}, .output = folder.path("t.bin"), .tokenizer = gpt2});
  DatasetOptions options;
  options.vocabulary_size = 400;
  options.source = "c.toml:3";
  const std::string other = folder.write_tokens("other.bin", {1, 2, 3});
  const std::vector<TokenOrigin> origins =
      TokenDataset({folder.path("t.bin"), other}, options).origins();
  REQUIRE(origins.size() == 2);
  CHECK((origins[0].path == folder.path("t.bin") && origins[0].where == "c.toml:3"));
  CHECK(origins[0].tokenizer == tokenizer_digest(Tokenizer::read(gpt2)));
  CHECK(origins[1].tokenizer == 0);
  const MixedDataset mixed({{{folder.path("t.bin")}, 1.0, "c.toml:5"}, {{other}, 1.0, "c.toml:8"}},
                           options);
  REQUIRE(mixed.origins().size() == 2);
  CHECK((mixed.origins()[1].path == other && mixed.origins()[1].where == "c.toml:8"));
}

}  // namespace
}  // namespace pptrain
