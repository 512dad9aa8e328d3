#include "data/token_dataset.hpp"

#include <array>
#include <cstring>
#include <numeric>
#include <set>

#include "data/files.hpp"
#include "data/permutation.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

std::vector<std::uint32_t> counting(std::size_t size, std::uint32_t first = 0) {
  std::vector<std::uint32_t> tokens(size);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// Tokens that count up from `first`, as a file of 16 bits takes them.
std::vector<std::uint16_t> narrow(std::size_t size, std::uint16_t first = 0) {
  std::vector<std::uint16_t> tokens(size);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

DatasetOptions options(std::int64_t batch, std::int64_t length, bool shuffle = false) {
  return {.vocabulary_size = 65536,
          .sequence_length = length,
          .global_batch_size = batch,
          .shuffle = shuffle,
          .seed = 7,
          .source = "c.toml:3"};
}

struct Sample {
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> targets;
};

Sample sample_of(const TokenDataset& data, std::int64_t step, std::int64_t index,
                 std::size_t length) {
  Sample sample{std::vector<std::uint32_t>(length), std::vector<std::uint32_t>(length)};
  data.sample(step, index, sample.tokens.data(), sample.targets.data());
  return sample;
}

std::string refused(const std::vector<std::string>& paths, const DatasetOptions& given) {
  return complaint_of([&] { const TokenDataset data(paths, given); });
}

TEST_CASE("header, bare tokens and text are told apart", "[data]") {
  const TestFolder folder("formats");
  std::uint32_t out[3] = {};
  const TokenFile headed(folder.write_tokens("with.tokens", {5, 6, 700}), "");
  CHECK(headed.size() == 3);
  headed.copy(0, 3, out);
  CHECK(out[2] == 700);
  const TokenFile bare(folder.write("bare.bin", std::string("\x05\x00\x06\x00\xbc\x02", 6)), "");
  CHECK(bare.size() == 3);
  bare.copy(1, 2, out);
  CHECK(out[1] == 700);
  const TokenFile wide(folder.write_wide_tokens("wide.tokens", {5, 70000, 2147483646}), "");
  CHECK(wide.size() == 3);
  wide.copy(1, 2, out);
  CHECK((out[0] == 70000 && out[1] == 2147483646));
  const TokenFile text(folder.write("text", "aB\xff"), "");
  CHECK(text.size() == 3);
  text.copy(0, 3, out);
  CHECK((out[0] == 'a' && out[1] == 'B' && out[2] == 255));
}

TEST_CASE("the reference tokens are read as their file has them", "[data]") {
  const TokenDataset data({test_data("gpt2-reference/untied/tokens.bin")}, options(8, 32));
  CHECK(data.num_tokens() == 20 * 8 * 32 + 1);
  const Sample first = sample_of(data, 0, 0, 32);
  // The first tokens behind the header of that file.
  CHECK(first.tokens[0] == 1);
  CHECK(first.tokens[1] == 0x16);
  CHECK(first.targets[0] == 0x16);
  CHECK(sample_of(data, 1, 0, 32).tokens[0] == sample_of(data, 0, 7, 32).targets[31]);
}

TEST_CASE("files of 16 and of 32 bits with the same tokens give the same samples", "[data]") {
  const TestFolder folder("widths");
  const TokenDataset narrow_data({folder.write_tokens("n.bin", narrow(101, 65400))},
                                 options(2, 10, true));
  const TokenDataset wide_data({folder.write_wide_tokens("w.bin", counting(101, 65400))},
                               options(2, 10, true));
  for (std::int64_t number = 0; number < 20; ++number) {
    const Sample here = sample_of(narrow_data, number / 2, number % 2, 10);
    const Sample there = sample_of(wide_data, number / 2, number % 2, 10);
    CHECK(here.tokens == there.tokens);
    CHECK(here.targets == there.targets);
  }
}

TEST_CASE("tokens beyond 16 bits arrive as tokens and as targets", "[data]") {
  const TestFolder folder("beyond16");
  DatasetOptions given = options(1, 4);
  given.vocabulary_size = 2147483647;
  const TokenDataset data({folder.write_wide_tokens("w.bin", {1, 65536, 131073, 2147483646, 7})},
                          given);
  std::array<std::uint32_t, 4> tokens = {};
  std::array<std::int32_t, 4> targets = {};
  data.sample(0, 0, {tokens.data(), targets.data(), nullptr});
  CHECK(tokens == std::array<std::uint32_t, 4>{1, 65536, 131073, 2147483646});
  CHECK(targets == std::array<std::int32_t, 4>{65536, 131073, 2147483646, 7});
}

TEST_CASE("ordered samples follow each other and start over when no whole batch is left",
          "[data]") {
  const TestFolder folder("ordered");
  // 3 batches of 2 x 4 tokens fit (3 * 8 + 1 = 25), 31 tokens do not hold a fourth.
  const TokenDataset data({folder.write_tokens("t.bin", narrow(31))}, options(2, 4));
  for (std::int64_t step = 0; step < 7; ++step) {
    for (std::int64_t index = 0; index < 2; ++index) {
      const auto start = static_cast<std::uint32_t>((step % 3 * 2 + index) * 4);
      const Sample sample = sample_of(data, step, index, 4);
      CHECK(sample.tokens == counting(4, start));
      CHECK(sample.targets == counting(4, static_cast<std::uint32_t>(start + 1)));
    }
  }
}

TEST_CASE("exactly one global batch is enough", "[data]") {
  const TestFolder folder("exact");
  const std::string exact = folder.write_tokens("exact.bin", narrow(9));
  for (const bool shuffle : {false, true}) {
    const TokenDataset data({exact}, options(2, 4, shuffle));
    for (std::int64_t step = 0; step < 5; ++step) sample_of(data, step, 1, 4);
  }
  CHECK(sample_of(TokenDataset({exact}, options(1, 8, true)), 3, 0, 8).tokens == counting(8));
  CHECK(refused({folder.write_tokens("few.bin", narrow(8))}, options(2, 4)).find("2 x 4 + 1 = 9") !=
        std::string::npos);
}

TEST_CASE("several files are one behind the other", "[data]") {
  const TestFolder folder("several");
  const std::vector<std::string> paths = {folder.write_tokens("a.bin", narrow(5)),
                                          folder.write("b", "\x05\x06"),
                                          folder.write_tokens("c.bin", narrow(20, 7))};
  DatasetOptions of_bytes = options(1, 13);
  of_bytes.vocabulary_size = 256;
  const TokenDataset data(paths, of_bytes);
  CHECK(data.num_tokens() == 27);
  CHECK(sample_of(data, 0, 0, 13).tokens == counting(13));
  CHECK(sample_of(data, 0, 0, 13).targets == counting(13, 1));
  CHECK(sample_of(data, 1, 0, 13).targets == counting(13, 14));
}

TEST_CASE("shuffled epochs take every window once, at an offset of their own", "[data]") {
  const TestFolder folder("shuffled");
  const TokenDataset data({folder.write_tokens("t.bin", narrow(10 * 101 + 1))},
                          options(20, 10, true));
  // 101 windows fit, 100 are used: 5 steps of 20 are one epoch.
  std::set<std::int64_t> offsets;
  std::vector<std::uint32_t> previous_order;
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
    std::set<std::uint32_t> starts;
    std::vector<std::uint32_t> order;
    for (std::int64_t number = 0; number < 100; ++number) {
      const Sample sample = sample_of(data, epoch * 5 + number / 20, number % 20, 10);
      CHECK(sample.tokens == counting(10, sample.tokens[0]));
      CHECK(sample.targets == counting(10, static_cast<std::uint32_t>(sample.tokens[0] + 1)));
      starts.insert(sample.tokens[0]);
      order.push_back(sample.tokens[0]);
    }
    CHECK(starts.size() == 100);
    for (const std::uint32_t start : starts) CHECK(start % 10 == *starts.begin() % 10);
    CHECK(order != previous_order);
    previous_order = order;
    offsets.insert(*starts.begin() % 10);
  }
  CHECK(offsets.size() > 1);
}

TEST_CASE("the order depends on the seed, step and sample alone", "[data]") {
  const TestFolder folder("alone");
  const std::string path = folder.write_tokens("t.bin", narrow(4001));
  const TokenDataset one({path}, options(8, 5, true));
  const TokenDataset same({path}, options(8, 5, true));
  DatasetOptions reseeded = options(8, 5, true);
  reseeded.seed = 8;
  const TokenDataset other({path}, reseeded);
  int differing = 0;
  // The one asks in order, the other backwards: nothing is remembered between calls.
  for (std::int64_t number = 0; number < 64; ++number) {
    const std::int64_t back = 63 - number;
    CHECK(sample_of(one, back / 8, back % 8, 5).tokens ==
          sample_of(same, back / 8, back % 8, 5).tokens);
    differing += sample_of(one, number / 8, number % 8, 5).tokens !=
                 sample_of(other, number / 8, number % 8, 5).tokens;
  }
  CHECK(differing > 50);
  // Batches of another size have the same samples.
  const TokenDataset halved({path}, options(4, 5, true));
  CHECK(sample_of(one, 3, 5, 5).tokens == sample_of(halved, 7, 1, 5).tokens);
}

TEST_CASE("evaluation windows are fixed", "[data]") {
  const TestFolder folder("windows");
  const TokenDataset data({folder.write_tokens("t.bin", narrow(31))}, options(2, 4, true));
  CHECK(data.num_windows() == 7);
  std::array<std::uint32_t, 4> tokens = {};
  std::array<std::uint32_t, 4> targets = {};
  data.window(6, tokens.data(), targets.data());
  CHECK((tokens[0] == 24 && targets[3] == 28));
}

TEST_CASE("bad data files are refused with place, file and reason", "[data]") {
  const TestFolder folder("bad");
  const std::string good = folder.write_tokens("good.bin", narrow(100));
  DatasetOptions small = options(1, 4);
  small.vocabulary_size = 256;
  CHECK(refused({}, small).starts_with("c.toml:3: there is no data"));
  CHECK(refused({folder.path("none")}, small) ==
        "c.toml:3: " + folder.path("none") +
            " does not exist (No such file or directory); check the path and its permissions");
  CHECK(refused({folder.path("")}, small).find("not a regular file") != std::string::npos);
  CHECK(refused({folder.write("empty", "")}, small).find("is empty") != std::string::npos);
  CHECK(refused({folder.write("odd.bin", "abc")}, small).find("odd number of bytes") !=
        std::string::npos);
  const std::string beyond = folder.write_tokens("beyond.bin", {1, 2, 256, 3, 4, 5});
  CHECK(refused({good, beyond}, small) ==
        "c.toml:3: " + beyond +
            ": token 256 at position 2 is outside the vocabulary (vocabulary_size = 256 admits "
            "0 to 255); set vocabulary_size to that of the tokenizer");
  small.vocabulary_size = 65537;
  CHECK(refused({folder.write_wide_tokens("wide.bin", {1, 65536, 65537, 3, 4, 5})}, small)
            .find("token 65537 at position 2 is outside the vocabulary") != std::string::npos);
  small.vocabulary_size = 2147483647;
  CHECK(refused({folder.write_wide_tokens("most.bin", {1, 4294967295, 2, 3, 4, 5})}, small)
            .find("token 4294967295") != std::string::npos);
  small.vocabulary_size = 128;
  std::vector<std::uint16_t> far(200000, 'a');
  far[150000] = 255;
  CHECK(
      refused({folder.write_tokens("far.bin", far)}, small).find("token 255 at position 150000") !=
      std::string::npos);
}

TEST_CASE(
    "a file that nothing says to hold tokens is read as bytes for a vocabulary of bytes alone",
    "[data]") {
  const TestFolder folder("bytes");
  const std::string text(2000, 'a');
  DatasetOptions given = options(1, 4);
  for (const char* name :
       {"t", "t.txt", "t.jsonl", "t.parquet", "t.arrow", "t.npy", "t.ds", "t.pt"}) {
    const std::string path = folder.write(name, text);
    for (const std::int64_t vocabulary : {256, 257}) {
      given.vocabulary_size = vocabulary;
      CHECK(TokenDataset({path}, given).num_tokens() == 2000);
    }
    for (const std::int64_t vocabulary : {128, 255, 258, 2000, 50257, 70000}) {
      given.vocabulary_size = vocabulary;
      CHECK(refused({path}, given) == "c.toml:3: " + path + " holds no tokens of a vocabulary of " +
                                          std::to_string(vocabulary) +
                                          " (a file that is no token file is read byte by byte, "
                                          "for a vocabulary_size of 256, or 257); write "
                                          "tokens with a header by `pptrain tokenize --tokenizer "
                                          "FOLDER`, with the model's tokenizer");
    }
  }
  const std::string bare = folder.write("bare.bin", text);
  given.vocabulary_size = 65536;
  CHECK(TokenDataset({bare}, given).num_tokens() == 1000);
  given.vocabulary_size = 65537;
  CHECK(
      refused({bare}, given)
          .find("bare.bin may not hold tokens of a vocabulary of 65537 (it has no header, so that "
                "its tokens have 16 bits") != std::string::npos);
}

TEST_CASE("archives and tables are no text for a model of bytes either", "[data]") {
  const TestFolder folder("archives");
  DatasetOptions given = options(1, 4);
  given.vocabulary_size = 256;
  const std::vector<std::pair<std::string, std::string>> beginnings = {
      {"\x1f\x8b", "gzip"},
      {"\x28\xb5\x2f\xfd", "zstd"},
      {"PK\x03\x04", "zip"},
      {"PAR1", "Parquet"},
      {std::string("ARROW1\0\0", 8), "Arrow"},
      {"\x93NUMPY", "NumPy"},
      {"\x89HDF\r\n\x1a\n", "HDF5"}};
  for (const auto& [beginning, kind] : beginnings) {
    const std::string message =
        refused({folder.write("t", beginning + std::string(100, 'a'))}, given);
    CHECK(message.find(kind) != std::string::npos);
    CHECK(message.find("its bytes are no characters") != std::string::npos);
  }
}

TEST_CASE("foreign and torn token files are refused", "[data]") {
  const TestFolder folder("torn");
  const auto header = TestFolder::token_header;
  const auto message = [&](const std::string& content) {
    return refused({folder.write("t.bin", content)}, options(1, 1));
  };
  CHECK(message(header(20240520, 1, 4) + "abcdef").find("is torn (its header promises 4 tokens") !=
        std::string::npos);
  CHECK(message(header(20240520, 1, 2) + "abcdef").find("is torn") != std::string::npos);
  CHECK(message(header(20240520, 2, 3) + "abcdef").find("token format 2") != std::string::npos);
  CHECK(message(header(20240801, 7, 3) + "abcdef")
            .find("is torn (its header promises 3 tokens, 1036 bytes") != std::string::npos);
  CHECK(message(header(20240801, 1, 1) + "abcd").find("token format 1 (format 7 is known)") !=
        std::string::npos);
  CHECK(message(header(20240520, 1, 3).substr(0, 100)).find("is torn") != std::string::npos);
}

TEST_CASE("permutations are bijections of every size", "[data]") {
  for (std::uint64_t size = 1; size < 300; ++size) {
    const Permutation permutation(size, 3, "test");
    std::set<std::uint64_t> images;
    for (std::uint64_t i = 0; i < size; ++i) images.insert(permutation(i));
    CHECK(images.size() == size);
    CHECK(*images.rbegin() == size - 1);
  }
}

TEST_CASE("permutations are uniform", "[data]") {
  // 8000 permutations of 10 values: every value goes to every place about 800 times. The deviation
  // of a count is sqrt(8000 * 0.1 * 0.9) = 27; five of them for 100 counts.
  std::array<std::array<int, 10>, 10> counts = {};
  for (std::uint64_t seed = 0; seed < 8000; ++seed) {
    const Permutation permutation(10, seed, "test");
    for (std::uint64_t i = 0; i < 10; ++i) ++counts[i][permutation(i)];
  }
  for (const auto& row : counts) {
    for (const int count : row) CHECK(std::abs(count - 800) < 135);
  }
}

TEST_CASE("a permutation of very many values stays inside", "[data]") {
  const std::uint64_t size = (std::uint64_t{1} << 40) + 12345;
  const Permutation permutation(size, 1, "test");
  std::set<std::uint64_t> images;
  for (std::uint64_t i = 0; i < 1000; ++i) images.insert(permutation(size - 1 - i));
  CHECK(images.size() == 1000);
  CHECK(*images.rbegin() < size);
  CHECK(*images.rbegin() > size / 2);
}

}  // namespace
}  // namespace pptrain
