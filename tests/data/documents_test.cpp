#include <algorithm>
#include <optional>
#include <set>

#include "base/random.hpp"
#include "data/files.hpp"
#include "data/mixed_dataset.hpp"
#include "data/token_dataset.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Where the document of each position begins, found position by position: at the last start of one
/// that is not behind it, as far as the sample reaches.
std::vector<std::int32_t> plain_begins(const std::set<std::int64_t>& starts, std::int64_t begin,
                                       std::int64_t count) {
  std::vector<std::int32_t> begins;
  for (std::int64_t t = 0; t < count; ++t) {
    std::int64_t first = begin + t;
    while (first > begin && !starts.contains(first)) --first;
    begins.push_back(static_cast<std::int32_t>(first - begin));
  }
  return begins;
}

void check_all(const TokenStream& stream, const std::set<std::int64_t>& starts) {
  for (std::int64_t begin = 0; begin < stream.num_tokens(); ++begin) {
    for (std::int64_t count = 1; begin + count <= stream.num_tokens(); ++count) {
      std::vector<std::int32_t> found(static_cast<std::size_t>(count), -1);
      stream.document_begins(begin, count, found.data());
      if (found == plain_begins(starts, begin, count)) continue;
      CAPTURE(begin, count, found);
      REQUIRE(found == plain_begins(starts, begin, count));
    }
  }
}

TEST_CASE("documents end behind the token that says so, and with their file", "[data]") {
  const TestFolder folder("ends");
  // The token 9 ends documents: twice in a row, at the end of a file, and at the end of all.
  const std::vector<std::string> paths = {folder.write_tokens("a.bin", {1, 2, 9, 9, 3, 9}),
                                          folder.write_tokens("b.bin", {4, 5}),
                                          folder.write_tokens("c.bin", {9, 6, 7, 9})};
  check_all(TokenStream(paths, 10, 9, ""), {0, 3, 4, 6, 8, 9});
  // Without such a token the files are the documents.
  check_all(TokenStream(paths, 10, std::nullopt, ""), {0, 6, 8});
}

TEST_CASE("documents are what an index says, and what a token ends in them", "[data]") {
  const TestFolder folder("indexed");
  const TestFolder::Index index = TestFolder::index_of(8, 2, {3, 1, 2, 4}, {0, 2, 3, 4});
  folder.write("x.idx", TestFolder::bytes_of(index));
  folder.write("x.bin",
               TestFolder::bytes_of(std::vector<std::uint16_t>{1, 2, 9, 3, 4, 5, 6, 9, 9, 7}));
  const std::vector<std::string> paths = {folder.write_tokens("a.bin", {1, 2, 3}),
                                          folder.path("x")};
  check_all(TokenStream(paths, 10, std::nullopt, ""), {0, 3, 7, 9});
  check_all(TokenStream(paths, 10, 9, ""), {0, 3, 6, 7, 9, 11, 12});
}

TEST_CASE("samples come with their documents, in every order and from a mix", "[data]") {
  const TestFolder folder("samples");
  std::vector<std::uint16_t> tokens;
  const CounterRandom random(3, "documents");
  for (std::uint64_t i = 0; i < 400; ++i)
    tokens.push_back(static_cast<std::uint16_t>(random.bits(i) % 6));
  const std::string path = folder.write_tokens("t.bin", tokens);
  constexpr std::size_t length = 17;
  DatasetOptions options;
  options.sequence_length = length;
  options.global_batch_size = 4;
  options.end_of_document = 5;
  options.needs_documents = true;
  const auto check = [&](const Dataset& data) {
    for (std::int64_t number = 0; number < 40; ++number) {
      std::vector<std::uint32_t> drawn(length);
      std::vector<std::int32_t> begins(length, -1);
      SampleSlot slot;
      slot.tokens = drawn.data();
      slot.document_begin = begins.data();
      data.sample(number / 4, number % 4, slot);
      for (std::size_t t = 0; t < length; ++t) {
        const auto end = drawn.begin() + static_cast<std::ptrdiff_t>(t);
        const auto last = std::find(std::make_reverse_iterator(end), drawn.rend(), 5U);
        CHECK(begins[t] == drawn.rend() - last);
      }
    }
  };
  check(TokenDataset({path}, options));
  check(MixedDataset({{{path}, 1.0, ""}, {{path}, 2.0, ""}}, options));
  options.shuffle = false;
  check(TokenDataset({path}, options));
}

TEST_CASE("files of which nothing says where documents end are refused where that is needed",
          "[data]") {
  const TestFolder folder("unknown");
  folder.write("x.idx", TestFolder::bytes_of(TestFolder::index_of(8, 2, {8}, {0, 1})));
  folder.write("x.bin", std::string(16, '\1'));
  const std::string plain = folder.write_tokens("t.bin", std::vector<std::uint16_t>(8, 1));
  DatasetOptions options;
  options.vocabulary_size = 300;
  options.needs_documents = true;
  options.source = "c.toml:3";
  CHECK_NOTHROW(TokenDataset({folder.path("x")}, options));
  CHECK(complaint_of([&] {
          TokenDataset({folder.path("x"), plain}, options);
        }).starts_with("c.toml:3: nothing says where documents of " + plain + " end"));
  options.end_of_document = 0;
  CHECK_NOTHROW(TokenDataset({folder.path("x"), plain}, options));
}

}  // namespace
}  // namespace pptrain
