#include "data/tokenize.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "data/files.hpp"
#include "data/token_file.hpp"
#include "data/token_origin.hpp"
#include "data/vocabulary.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {
namespace {

std::vector<std::uint32_t> tokens_of(const std::string& path) {
  const TokenFile file(path, "");
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(file.size()));
  file.copy(0, file.size(), tokens.data());
  return tokens;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Text with words to learn, indentation, empty lines and characters beyond ASCII.
std::string sample_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += "  the pipeline of stage " + std::to_string(i % 7) +
            " waits\n\n\tfor the na\u00efve micro-batch; ";
    text += i % 50 == 0 ? "\u20ac\r\n" : "and computes\n";
  }
  return text;
}

std::string refused(const TokenizeOptions& options) {
  return complaint_of([&] { tokenize_files(options); });
}

TEST_CASE("without a model every byte is a token", "[tokenize]") {
  const TestFolder folder("bytes");
  const TokenizeResult result =
      tokenize_files({.texts = {folder.write("a", "ab\n"), folder.write("b",
                                                                        "\xff"
                                                                        "c")},
                      .output = folder.path("t.bin")});
  CHECK(result.num_tokens == 5);
  CHECK(result.num_bytes == 5);
  CHECK(result.vocabulary_size == 256);
  CHECK(result.model_path.empty());
  CHECK(tokens_of(folder.path("t.bin")) == std::vector<std::uint32_t>{'a', 'b', '\n', 255, 'c'});
  CHECK(content_of(folder.path("t.bin")).size() == 1024 + 10);
}

TEST_CASE("a trained model is smaller than bytes, loses nothing and is written", "[tokenize]") {
  const TestFolder folder("trained");
  const std::string text = sample_text();
  const std::string path = folder.write("text", text);
  const TokenizeResult result =
      tokenize_files({.texts = {path}, .output = folder.path("t.bin"), .train_vocabulary = 400});
  CHECK(result.vocabulary_size == 400);
  CHECK(result.model_path == folder.path("t.model"));
  const std::vector<std::uint32_t> tokens = tokens_of(folder.path("t.bin"));
  CHECK(result.num_tokens == static_cast<std::int64_t>(tokens.size()));
  CHECK(tokens.size() * 3 < text.size());
  const Vocabulary vocabulary = Vocabulary::read(result.model_path);
  CHECK(vocabulary.decode(tokens) == text);

  // Reading the model again gives the same tokens, here for text that is longer than one piece.
  std::string long_text;
  while (long_text.size() < (std::size_t{5} << 19)) long_text += text;
  const TokenizeResult again = tokenize_files({.texts = {folder.write("long", long_text)},
                                               .output = folder.path("again.bin"),
                                               .model = result.model_path});
  CHECK(again.num_tokens ==
        result.num_tokens * static_cast<std::int64_t>(long_text.size() / text.size()));
  CHECK(vocabulary.decode(tokens_of(folder.path("again.bin"))) == long_text);
  CHECK(content_of(again.model_path) == content_of(result.model_path));
}

TEST_CASE("a model that is trained is a tokenizer.json too, with the same tokens", "[tokenize]") {
  const TestFolder folder("as_json");
  std::string text = sample_text();
  for (int i = 0; i < 300; ++i) text += "aaaa abab " + std::to_string(i * i) + " banana ananas\n";
  const TokenizeResult result = tokenize_files({.texts = {folder.write("text", text)},
                                                .output = folder.path("t.bin"),
                                                .train_vocabulary = 500});
  REQUIRE(result.tokenizer_path == folder.path("t.tokenizer.json"));
  const Vocabulary vocabulary = Vocabulary::read(result.model_path);
  const Tokenizer tokenizer = Tokenizer::read(result.tokenizer_path);
  CHECK(tokenizer.vocabulary_size() == 500);
  CHECK(tokenizer_digest(tokenizer) == tokenizer_digest(vocabulary));
  CHECK(TokenFile(folder.path("t.bin"), "").tokenizer() == tokenizer_digest(tokenizer));
  CHECK(tokenizer.encode(text) == tokens_of(folder.path("t.bin")));
  for (const std::string line :
       {"", " ", "   two  spaces ", "\t\ttabs\r\n\r\n\n", "aaaaaaa abababab bananananas",
        "<s> is no mark here, </s>, <unk> and <0x41> neither", "\u20ac\U0001f600\u00ef",
        "the pipeline\u2581of stages", "xyz\n\n\nxyz  "}) {
    INFO(line);
    CHECK(tokenizer.encode(line) == vocabulary.encode(line));
    CHECK(tokenizer.decode(vocabulary.encode(line)) == vocabulary.decode(vocabulary.encode(line)));
  }
  // What is read is not written as another file.
  const std::string beside = folder.write("b.tokenizer.json", text);
  CHECK(refused({.texts = {beside}, .output = folder.path("b.bin"), .train_vocabulary = 300})
            .find("overwrite") != std::string::npos);
  CHECK(tokenize_files({.texts = {beside}, .output = folder.path("c.bin")}).tokenizer_path.empty());
}

TEST_CASE("training the same text twice gives the same files", "[tokenize]") {
  const TestFolder folder("twice");
  const std::string path = folder.write("text", sample_text());
  for (const char* name : {"a.bin", "b.bin"}) {
    tokenize_files({.texts = {path}, .output = folder.path(name), .train_vocabulary = 350});
  }
  CHECK(content_of(folder.path("a.bin")) == content_of(folder.path("b.bin")));
  CHECK(content_of(folder.path("a.model")) == content_of(folder.path("b.model")));
}

/// A field of a protocol buffer: a number, or bytes with their length.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}
std::string number_field(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string bytes_field(int field, const std::string& value) {
  return varint((static_cast<std::uint64_t>(field) << 3) | 2) + varint(value.size()) + value;
}

/// A SentencePiece model (sentencepiece_model.proto) of `size` pieces, of which the last one is
/// "z".
std::string large_model(int size) {
  std::string model = bytes_field(1, bytes_field(1, "<unk>") + number_field(3, 2));
  for (int i = 1; i + 1 < size; ++i)
    model += bytes_field(1, bytes_field(1, "piece" + std::to_string(i)));
  return model + bytes_field(1, bytes_field(1, "z"));
}

TEST_CASE("a vocabulary beyond 16 bits is written with 32", "[tokenize]") {
  const TestFolder folder("wide");
  const std::string text = folder.write("text", "zz");
  for (const int size : {65536, 70000}) {
    const bool is_wide = size > 65536;
    const TokenizeResult result =
        tokenize_files({.texts = {text},
                        .output = folder.path("t.bin"),
                        .model = folder.write("large.model", large_model(size))});
    CHECK(result.vocabulary_size == size);
    const std::vector<std::uint32_t> tokens = tokens_of(folder.path("t.bin"));
    CHECK(tokens.back() == static_cast<std::uint32_t>(size - 1));
    const std::string content = content_of(folder.path("t.bin"));
    CHECK(content.size() == 1024 + (is_wide ? 4 : 2) * tokens.size());
    const std::string header =
        TestFolder::token_header(is_wide ? 20240801 : 20240520, is_wide ? 7 : 1, tokens.size());
    // Behind the number of tokens stands what made them.
    CHECK(content.substr(0, 12) == header.substr(0, 12));
    CHECK(content.substr(24, 1000) == header.substr(24));
  }
}

TEST_CASE("tokens go behind a link, and to nothing but a file", "[tokenize]") {
  const TestFolder folder("behind");
  const std::string text = folder.write("text", "ab\n");
  folder.write("t.bin", "old");
  std::filesystem::create_symlink("t.bin", folder.path("link.bin"));
  tokenize_files({.texts = {text}, .output = folder.path("link.bin")});
  CHECK(std::filesystem::is_symlink(folder.path("link.bin")));
  CHECK(tokens_of(folder.path("t.bin")) == std::vector<std::uint32_t>{'a', 'b', '\n'});

  std::filesystem::create_symlink("text", folder.path("link.txt"));
  CHECK(refused({.texts = {text}, .output = folder.path("link.txt")}).find("overwrite") !=
        std::string::npos);
  CHECK(content_of(text) == "ab\n");
  REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  CHECK(refused({.texts = {text}, .output = folder.path("pipe")})
            .find("something else than a file") != std::string::npos);
  CHECK(std::filesystem::is_fifo(folder.path("pipe")));
}

TEST_CASE("what cannot be tokenized is refused and leaves nothing", "[tokenize]") {
  const TestFolder folder("refused");
  const std::string text = folder.write("text", sample_text());
  const std::string out = folder.path("t.bin");
  CHECK(refused({.texts = {}, .output = out}).find("no text") != std::string::npos);
  CHECK(refused({.texts = {folder.path("none")}, .output = out}).find("does not exist") !=
        std::string::npos);
  CHECK(refused({.texts = {folder.write("empty", "")}, .output = out}).find("is empty") !=
        std::string::npos);
  CHECK(refused({.texts = {text}, .output = folder.path("no/t.bin")}).find("cannot be written") !=
        std::string::npos);
  CHECK(refused({.texts = {text}, .output = text}).find("overwrite") != std::string::npos);
  CHECK(refused({.texts = {text}, .output = out, .model = text}).find("no SentencePiece model") !=
        std::string::npos);
  CHECK(refused({.texts = {text}, .output = out, .model = text, .train_vocabulary = 300})
            .find("contradicts") != std::string::npos);
  CHECK(refused({.texts = {text}, .output = out, .train_vocabulary = 260})
            .find("use 261 to 2147483647") != std::string::npos);
  CHECK(refused({.texts = {text}, .output = out, .train_vocabulary = 2147483648})
            .find("out of range") != std::string::npos);
  CHECK(refused({.texts = {text}, .output = out, .train_vocabulary = 60000})
            .find("no model with 60000 pieces") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK_FALSE(std::filesystem::exists(out + ".partial"));
  CHECK(content_of(text) == sample_text());
}

}  // namespace
}  // namespace pptrain
