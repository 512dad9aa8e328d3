#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "data/files.hpp"
#include "data/ordered_work.hpp"
#include "data/tokenize.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {
namespace {

using Tokens = std::vector<std::uint32_t>;

std::string bytes_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <class T>
T value_at(const std::string& bytes, std::size_t at) {
  REQUIRE(at + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The tokens of a file with header, of either width.
Tokens tokens_in(const std::string& path) {
  const std::string bytes = bytes_in(path);
  const bool wide = value_at<std::int32_t>(bytes, 0) == 20240801;
  CHECK(value_at<std::int32_t>(bytes, 0) == (wide ? 20240801 : 20240520));
  CHECK(value_at<std::int32_t>(bytes, 4) == (wide ? 7 : 1));
  Tokens tokens(static_cast<std::size_t>(value_at<std::int32_t>(bytes, 8)));
  CHECK(bytes.size() == 1024 + tokens.size() * (wide ? 4 : 2));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = wide ? value_at<std::uint32_t>(bytes, 1024 + 4 * i)
                     : value_at<std::uint16_t>(bytes, 1024 + 2 * i);
  return tokens;
}

Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "line " + std::to_string(i * i) +
            " of the na\u00efve text,\r\n\tand  more \u6771\u4eac!\n" + (i % 9 == 0 ? "\n" : "");
  return text;
}

std::string refused(const TokenizeOptions& options) {
  return complaint_of([&] { tokenize_files(options); });
}

const std::string llama = test_data("tokenizers/llama3");

TEST_CASE("tokens do not depend on threads or on how the text is cut", "[documents]") {
  const TestFolder folder("threads");
  const std::string text = long_text();
  const std::string path = folder.write("a.txt", text);
  const Tokenizer tokenizer = Tokenizer::read(llama);
  const Tokens expected =
      tokenizer.prefix() + tokenizer.encode(text) + tokenizer.prefix() + tokenizer.encode("b\n");
  for (const int threads : {1, 3}) {
    for (const std::size_t part_bytes :
         {std::size_t{1000}, std::size_t{30000}, std::size_t{1} << 20U}) {
      std::int64_t reported = 0;
      const TokenizeResult result =
          tokenize_files({.texts = {path, folder.write("b.txt", "b\n")},
                          .output = folder.path("t.bin"),
                          .tokenizer = llama,
                          .num_threads = threads,
                          .part_bytes = part_bytes,
                          .progress = [&](const TokenizeProgress& progress) {
                            CHECK(progress.bytes_done > reported);
                            CHECK(progress.bytes == static_cast<std::int64_t>(text.size()) + 2);
                            reported = progress.bytes_done;
                          }});
      CHECK(tokens_in(folder.path("t.bin")) == expected);
      CHECK(result.num_tokens == std::ssize(expected));
      CHECK(result.num_documents == 2);
      CHECK(result.num_bytes == reported);
      CHECK(result.vocabulary_size == tokenizer.vocabulary_size());
      CHECK(result.token_bytes == 2);
    }
  }
}

TEST_CASE("each line of a .jsonl file is a document, ended as asked", "[documents]") {
  const TestFolder folder("lines");
  const std::string path = folder.write(
      "a.jsonl",
      "{\"text\": \"one\\ntwo\", \"id\": 1}\r\n\n{\"text\": \"\"}\n{\"text\": \"three\"}");
  const Tokenizer tokenizer = Tokenizer::read(llama);
  const Tokens end = {*tokenizer.token("<|endoftext|>")};
  TokenizeOptions options = {.texts = {path}, .output = folder.path("t.bin"), .tokenizer = llama};
  options.end_of_document = "<|endoftext|>";
  options.special_tokens = false;
  options.part_bytes = 1;
  CHECK(tokenize_files(options).num_documents == 3);
  CHECK(tokens_in(options.output) ==
        tokenizer.encode("one\ntwo") + end + end + tokenizer.encode("three") + end);

  options.special_tokens = true;
  options.end_of_document = "<s>";
  CHECK(tokenize_files(options).num_documents == 3);
  const Tokens start = tokenizer.prefix();
  CHECK(tokens_in(options.output) == start + tokenizer.encode("one\ntwo") + start + start + start +
                                         start + tokenizer.encode("three") + start);

  options.json_key = "body";
  CHECK(refused(options).find("a.jsonl:1: there is no text below \"body\"") != std::string::npos);
  options.json_key = "text";
  options.texts = {folder.write("b.jsonl", "{\"text\": \"a\"}\n\n{\"text\": \"b\"\n{}\n")};
  CHECK(refused(options).find("b.jsonl:3: this is no JSON object") != std::string::npos);
}

TEST_CASE("bad lines are refused with the parser's reason, or left out and counted",
          "[documents]") {
  const TestFolder folder("bad_lines");
  const std::string good = "{\"text\": \"one\"}\n", last = "{\"text\": \"two\"}";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {R"({"text": "a", "x": NaN})",
       "this is no JSON object (syntax error while parsing value - invalid literal; last read: "
       "'\"x\": N')"},
      {R"({"text": "a", "x": "\ud800"})",
       "this is no JSON object (syntax error while parsing value - invalid string: surrogate "
       "U+D800..U+DBFF must be "
       "followed by U+DC00..U+DFFF"},
      {R"({"text": "a", "\udc00": 1})",
       "this is no JSON object (syntax error while parsing object key - invalid string: surrogate "
       "U+DC00..U+DFFF must "
       "follow U+D800..U+DBFF"},
      {R"({"text": 1e999})", "this is no JSON object (number overflow parsing '1e999')"},
      {"[]", "this is no JSON object (a .jsonl file has one on each line)"},
      {R"({"text": 1})", "there is no text below \"text\""},
      {R"({"body": "a"})", "there is no text below \"text\""}};
  const Tokenizer tokenizer = Tokenizer::read(llama);
  TokenizeOptions options = {.output = folder.path("t.bin"), .tokenizer = llama};
  std::string all = good;
  for (const auto& [line, reason] : bad) {
    options.texts = {folder.write("a.jsonl", good + line + "\n" + last)};
    INFO(refused(options));
    CHECK(refused(options).find("a.jsonl:2: " + reason) != std::string::npos);
    all += line + "\n";
  }
  options.texts = {folder.write("a.jsonl", all + last)};
  options.skip_bad_lines = true;
  options.num_threads = 2;
  options.part_bytes = 40;
  const TokenizeResult result = tokenize_files(options);
  CHECK(result.num_documents == 2);
  CHECK(tokens_in(options.output) == tokenizer.prefix() + tokenizer.encode("one") +
                                         tokenizer.prefix() + tokenizer.encode("two"));
  CHECK(result.bad_lines.count == std::ssize(bad));
  CHECK(result.bad_lines.first.find("a.jsonl:2: " + bad.front().second) != std::string::npos);
  options.texts = {folder.write("a.jsonl", bad[0].first + "\n" + bad[1].first)};
  CHECK(refused(options).find("all lines with text are bad, 2 of them (the first: ") !=
        std::string::npos);
  // A line may be deeper than the files that programs write.
  options.texts = {folder.write("a.jsonl", "{\"x\":" + std::string(100000, '[') +
                                               std::string(100000, ']') + ",\"text\":\"one\"}")};
  CHECK(tokenize_files(options).num_documents == 1);
}

TEST_CASE("the end of documents is named beside the tokenizer", "[documents]") {
  const TestFolder folder("named");
  std::filesystem::copy(llama + "/tokenizer.json", folder.path("tokenizer.json"));
  TokenizeOptions options = {.texts = {folder.write("a.txt", "abc")},
                             .output = folder.path("t.bin"),
                             .tokenizer = folder.path("tokenizer.json"),
                             .append_end_of_document = true};
  CHECK(refused(options).find("the tokenizer does not say what its eos_token is") !=
        std::string::npos);
  for (const char* config :
       {R"({"eos_token": "<|endoftext|>"})", R"({"eos_token": {"content": "<|endoftext|>"}})"}) {
    folder.write("tokenizer_config.json", config);
    CHECK(tokenize_files(options).num_documents == 1);
    CHECK(tokens_in(options.output).back() == Tokenizer::read(llama).token("<|endoftext|>"));
  }
  folder.write("tokenizer_config.json", R"({"eos_token": "<other>"})");
  CHECK(refused(options).find("the tokenizer has no token \"<other>\"") != std::string::npos);
  folder.write("tokenizer_config.json", "[]");
  CHECK(refused(options).find("this is no JSON object") != std::string::npos);
}

/// A tokenizer with a token for each letter and a last one that makes the vocabulary as large as
/// asked.
std::string large_tokenizer(const TestFolder& folder, std::uint32_t size) {
  std::string json = R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1, "z": )";
  return folder.write("large.json", json + std::to_string(size - 1) + "}}}");
}

TEST_CASE("tokens have 32 bits where the vocabulary needs them", "[documents]") {
  const TestFolder folder("wide");
  for (const std::uint32_t size : {65536U, 65537U, 200000U}) {
    const TokenizeResult result = tokenize_files({.texts = {folder.write("a.txt", "abz")},
                                                  .output = folder.path("t.bin"),
                                                  .tokenizer = large_tokenizer(folder, size)});
    CHECK(result.token_bytes == (size > 65536 ? 4 : 2));
    CHECK(result.vocabulary_size == size);
    CHECK(tokens_in(folder.path("t.bin")) == Tokens{0, 1, size - 1});
  }
}

TEST_CASE("an indexed dataset has the lengths of documents", "[documents]") {
  const TestFolder folder("indexed");
  for (const std::uint32_t size : {1000U, 65500U}) {
    const std::size_t width = size == 1000 ? 2 : 4;
    const TokenizeResult result =
        tokenize_files({.texts = {folder.write("a.txt", "ab"), folder.write("b.txt", "c"),
                                  folder.write("c.txt", "abz")},
                        .output = folder.path("t.bin"),
                        .tokenizer = large_tokenizer(folder, size),
                        .megatron = true});
    CHECK(result.num_documents == 2);  // "c" has no tokens
    CHECK(result.index_path == folder.path("t.idx"));
    CHECK(bytes_in(folder.path("t.bin")).size() == 5 * width);
    const std::string index = bytes_in(folder.path("t.idx"));
    CHECK(index.substr(0, 9) == std::string("MMIDIDX\0\0", 9));
    CHECK(value_at<std::uint64_t>(index, 9) == 1);
    CHECK(value_at<std::uint8_t>(index, 17) == (width == 2 ? 8 : 4));
    CHECK(value_at<std::uint64_t>(index, 18) == 2);
    CHECK(value_at<std::uint64_t>(index, 26) == 3);
    CHECK(value_at<std::int32_t>(index, 34) == 2);
    CHECK(value_at<std::int32_t>(index, 38) == 3);
    CHECK(value_at<std::int64_t>(index, 42) == 0);
    CHECK(value_at<std::int64_t>(index, 50) == static_cast<std::int64_t>(2 * width));
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(value_at<std::int64_t>(index, 58 + 8 * i) == static_cast<std::int64_t>(i));
    CHECK(index.size() == 82);
  }
}

TEST_CASE("bytes that are no UTF-8 become U+FFFD", "[documents]") {
  const TestFolder folder("repaired");
  tokenize_files({.texts = {folder.write("a.txt",
                                         "a\xff"
                                         "b\xe2\x82")},
                  .output = folder.path("t.bin"),
                  .tokenizer = llama});
  const Tokenizer tokenizer = Tokenizer::read(llama);
  CHECK(tokens_in(folder.path("t.bin")) == tokenizer.prefix() + tokenizer.encode("a\ufffd"
                                                                                 "b\ufffd"));
}

TEST_CASE("what contradicts a tokenizer is refused and leaves nothing", "[documents]") {
  const TestFolder folder("contradictions");
  const std::string text = folder.write("a.txt", "abc");
  const std::string out = folder.path("t.bin");
  CHECK(refused({.texts = {text}, .output = out, .train_vocabulary = 300, .tokenizer = llama})
            .find("contradicts") != std::string::npos);
  CHECK(refused({.texts = {text}, .output = out, .megatron = true})
            .find("only known with --tokenizer") != std::string::npos);
  CHECK(refused({.texts = {text}, .output = folder.path("t"), .tokenizer = llama, .megatron = true})
            .find("does not end in .bin") != std::string::npos);
  CHECK(refused({.texts = {text}, .output = text, .tokenizer = llama}).find("overwrite the text") !=
        std::string::npos);
  std::filesystem::copy(llama + "/tokenizer.json", folder.path("t.idx"));
  CHECK(
      refused({.texts = {text}, .output = out, .tokenizer = folder.path("t.idx"), .megatron = true})
          .find("overwrite the tokenizer") != std::string::npos);
  CHECK(refused({.texts = {folder.path("none")}, .output = out, .tokenizer = llama})
            .find("does not exist") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK_FALSE(std::filesystem::exists(out + ".partial"));
}

TEST_CASE("results come in order, and the first error whatever the threads", "[documents]") {
  for (const int threads : {1, 4}) {
    int given = 0;
    const auto next = [&]() -> std::optional<int> {
      return given < 200 ? std::optional(given++) : std::nullopt;
    };
    const auto make_worker = [] {
      return [](int item) -> int {
        if (item == 150 || item == 152) throw std::runtime_error(std::to_string(item));
        return item * item;
      };
    };
    OrderedWork<int, int, decltype(next), decltype(make_worker)> work(threads, next, make_worker);
    for (int i = 0; i < 150; ++i) CHECK(work.result() == i * i);
    CHECK_THROWS_WITH(work.result(), "150");
    CHECK(work.result() == 151 * 151);
    CHECK_THROWS_WITH(work.result(), "152");
    for (int i = 153; i < 200; ++i) CHECK(work.result() == i * i);
    CHECK_FALSE(work.result());
  }
}

}  // namespace
}  // namespace pptrain
