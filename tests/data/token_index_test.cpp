#include "data/token_index.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "data/files.hpp"
#include "data/token_dataset.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

using Index = TestFolder::Index;

const std::string accepted = "nothing was refused";  // what `complaint_of` then says

std::vector<std::uint32_t> tokens_of(const std::string& path) {
  const TokenFile file(path, "");
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(file.size()));
  file.copy(0, file.size(), tokens.data());
  return tokens;
}

TEST_CASE("a dataset of Megatron-LM is the stream of the token file with the same tokens",
          "[data]") {
  for (const std::string width : {"16-bit", "32-bit"}) {
    const std::string folder = test_data("megatron/" + width + "/");
    const std::vector<std::uint32_t> tokens = tokens_of(folder + "tokens.bin");
    REQUIRE(tokens.size() == (width == "16-bit" ? 5121U : 2561U));
    CHECK((*std::max_element(tokens.begin(), tokens.end()) > 65535) == (width == "32-bit"));
    for (const char* name :
         {"megatron_text_document", "megatron_text_document.bin", "megatron_text_document.idx"}) {
      CAPTURE(width, name);
      CHECK(tokens_of(folder + name) == tokens);
    }
    DatasetOptions options;
    options.vocabulary_size = 1 + *std::max_element(tokens.begin(), tokens.end());
    options.sequence_length = 32;
    CHECK_NOTHROW(TokenDataset({folder + "megatron_text_document"}, options));
    --options.vocabulary_size;
    CHECK(complaint_of([&] {
            TokenDataset({folder + "megatron_text_document"}, options);
          }).find("megatron_text_document.bin: token " + std::to_string(options.vocabulary_size)) !=
          std::string::npos);
  }
}

TEST_CASE("documents of an index begin where its tables say", "[data]") {
  const TestFolder folder("documents");
  // Documents of 3 + 0, none, 2, and 4 + 1 tokens; the second of them has no sequence.
  const Index index = TestFolder::index_of(4, 4, {3, 0, 2, 4, 1}, {0, 2, 2, 3, 5});
  const TokenIndex read(folder.write("a.idx", TestFolder::bytes_of(index)), "");
  CHECK(read.num_tokens() == 10);
  CHECK(read.num_documents() == 4);
  const std::vector<std::int64_t> starts = {0, 3, 5};
  for (std::int64_t begin = 0; begin <= 10; ++begin) {
    for (std::int64_t end = begin; end <= 10; ++end) {
      CAPTURE(begin, end);
      std::vector<std::int64_t> expected;
      std::copy_if(starts.begin(), starts.end(), std::back_inserter(expected),
                   [&](std::int64_t start) { return begin <= start && start < end; });
      CHECK(read.document_starts(begin, end) == expected);
    }
  }
}

TEST_CASE("tokens of every integer type are read, and none outside the vocabulary", "[data]") {
  const TestFolder folder("types");
  const auto check = [&]<class T>(std::uint8_t code, T most) {
    CAPTURE(static_cast<int>(code));
    const std::vector<T> stored = {1, most, 0, 7, 5};
    const std::string name = "t" + std::to_string(code);
    const Index index = TestFolder::index_of(code, sizeof(T), {2, 3}, {0, 1, 2});
    folder.write(name + ".idx", TestFolder::bytes_of(index));
    folder.write(name + ".bin", TestFolder::bytes_of(stored));
    const std::vector<std::uint32_t> expected(stored.begin(), stored.end());
    CHECK(tokens_of(folder.path(name)) == expected);
    const auto refused = [&](std::int64_t vocabulary) {
      TokenFile file(folder.path(name), "");
      return complaint_of([&] { file.check_vocabulary(vocabulary, "c.toml:3"); });
    };
    CHECK(refused(static_cast<std::int64_t>(most) + 1) == accepted);
    CHECK(refused(static_cast<std::int64_t>(most)).find("at position 1 is outside") !=
          std::string::npos);
    if constexpr (std::is_signed_v<T>) {
      folder.write(name + ".bin", TestFolder::bytes_of(std::vector<T>{1, 2, 0, -7, 5}));
      CHECK(refused(2147483647).find("token -7 at position 3 is outside") != std::string::npos);
    }
  };
  check(1, std::uint8_t{255});
  check(2, std::int8_t{127});
  check(3, std::int16_t{32767});
  check(4, std::int32_t{2147483646});
  check(5, std::int64_t{2147483646});
  check(8, std::uint16_t{65535});
  folder.write("long.idx", TestFolder::bytes_of(TestFolder::index_of(5, 8, {2}, {0, 1})));
  folder.write("long.bin",
               TestFolder::bytes_of(std::vector<std::int64_t>{1, std::int64_t{1} << 32}));
  TokenFile file(folder.path("long"), "");
  CHECK(complaint_of([&] { file.check_vocabulary(2147483647, ""); }).find("token 4294967296") !=
        std::string::npos);
}

/// What is said of an index of sequences of 3, 2 and 4 16-bit tokens in two documents after
/// `change`.
std::string refused_index(const std::function<void(Index&)>& change) {
  const TestFolder folder("lying");
  Index index = TestFolder::index_of(8, 2, {3, 2, 4}, {0, 1, 3});
  change(index);
  folder.write("x.idx", TestFolder::bytes_of(index));
  folder.write("x.bin", std::string(18, '\0'));
  const std::string told =
      complaint_of([&] { const TokenFile file(folder.path("x.bin"), "c.toml:3"); });
  CHECK((told == accepted || (told.starts_with("c.toml:3: " + folder.path("x")) &&
                              told.find("; ") != std::string::npos)));
  return told;
}

TEST_CASE("an index that contradicts itself or its tokens is refused", "[data]") {
  const auto refuses = [](const std::string& text, const std::function<void(Index&)>& change) {
    const std::string told = refused_index(change);
    CAPTURE(text, told);
    CHECK(told.find(text) != std::string::npos);
  };
  CHECK(refused_index([](Index&) {}) == accepted);
  refuses("is no index of Megatron-LM", [](Index& i) { i.magic = std::string("TNTIDX\0\0\0", 9); });
  refuses("has version 2", [](Index& i) { i.version = 2; });
  refuses("stores tokens as type 7 (that are floating-point", [](Index& i) { i.code = 7; });
  refuses("stores tokens as type 9 (known are", [](Index& i) { i.code = 9; });
  refuses("promises 4 sequences", [](Index& i) { i.lengths.push_back(0); });
  refuses("which does not make its", [](Index& i) { i.offsets.pop_back(); });
  refuses("gives sequence 1 -2 tokens", [](Index& i) { i.lengths[1] = -2; });
  refuses("begins sequence 2 at byte 12 (the sequences before it end at byte 10)",
          [](Index& i) { i.offsets[2] = 12; });
  refuses("begins sequence 0 at byte -2", [](Index& i) { i.offsets[0] = -2; });
  refuses("no document that begins with sequence 0", [](Index& i) { i.documents[0] = 1; });
  refuses("no document that begins with sequence 0", [](Index& i) { i.documents.clear(); });
  refuses("begins document 1 with sequence -1", [](Index& i) { i.documents[1] = -1; });
  refuses("ends the last document at sequence 2", [](Index& i) { i.documents[2] = 2; });
  refuses("the index promises 10 tokens, 20 bytes", [](Index& i) { i.lengths[2] = 5; });
  refuses("the index promises 9 tokens, 36 bytes", [](Index& i) {
    i = TestFolder::index_of(4, 4, {3, 2, 4}, {0, 1, 3});
  });
}

TEST_CASE("an index without its tokens, or torn, is refused", "[data]") {
  const TestFolder folder("half");
  const std::string whole = TestFolder::bytes_of(TestFolder::index_of(8, 2, {3, 2, 4}, {0, 1, 3}));
  folder.write("alone.idx", whole);
  const auto refused = [](const std::string& path) {
    return complaint_of([&] { const TokenFile file(path, "c.toml:3"); });
  };
  for (const char* name : {"alone", "alone.idx", "alone.bin"})
    CHECK(refused(folder.path(name))
              .starts_with("c.toml:3: " + folder.path("alone.bin") + " does not exist"));
  folder.write("torn.bin", std::string(18, '\0'));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    folder.write("torn.idx", whole.substr(0, size));
    CAPTURE(size);
    const std::string told = refused(folder.path("torn"));
    CHECK(told.find(size < 9 ? "is no index" : "is torn") != std::string::npos);
  }
}

TEST_CASE("a header says what a file is even where something else lies beside it", "[data]") {
  const TestFolder folder("beside");
  const std::string headed = folder.write_tokens("t.bin", {5, 6, 700});
  folder.write("t.idx", "not an index");
  CHECK(tokens_of(headed) == std::vector<std::uint32_t>{5, 6, 700});
  folder.write("bare.bin", "abcd");
  folder.write("bare.idx", "not an index");
  CHECK(complaint_of([&] {
          const TokenFile file(folder.path("bare.bin"), "");
        }).find("is no index of Megatron-LM") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
