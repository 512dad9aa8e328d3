// Samples that `pptrain tokenize` makes of text, against the tokens of the tokenizer one by one.
#include "io/samples/tokenize_samples.hpp"

#include <filesystem>

#include "data/files.hpp"
#include "io/hdf5/hdf5_read.hpp"
#include "io/samples/masked_text_file.hpp"
#include "io/samples/pair_file.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {
namespace {

using Tokens = std::vector<std::uint32_t>;
using Numbers = std::vector<std::int64_t>;

const std::string bert = test_data("tokenizers/bert");
const std::string t5 = test_data("tokenizers/t5");

/// The numbers of a dataset with two dimensions, and its columns.
struct Table {
  std::int64_t columns = 0;
  Numbers numbers;
};

Table table_in(const std::string& path, const char* name) {
  const Hdf5Source source = open_to_read(path);
  const Hdf5Array array(
      Hdf5Array::Place::dataset, source.file, name,
      {Hdf5Expected::Kind::integer, {Hdf5Expected::any, Hdf5Expected::any}, 1 << 24});
  Table table = {array.shape()[1],
                 Numbers(static_cast<std::size_t>(array.shape()[0] * array.shape()[1]))};
  array.rows({0, array.shape()[0]}, table.numbers.data());
  return table;
}

void append(const Tokens& tokens, Numbers& numbers) {
  numbers.insert(numbers.end(), tokens.begin(), tokens.end());
}

std::string story(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += "the hat of cat " + std::to_string(i * i) + " sat on a mat.\n";
  return text;
}

/// Documents, each with what ends it, cut into samples between the tokens around a text.
Numbers packed(const std::vector<std::string>& documents, const Tokenizer& tokenizer,
               std::int64_t length) {
  Numbers stream, samples;
  for (const std::string& document : documents) {
    append(tokenizer.encode(document), stream);
    append(tokenizer.suffix(), stream);
  }
  const auto room =
      static_cast<std::size_t>(length) - tokenizer.prefix().size() - tokenizer.suffix().size();
  for (std::size_t begin = 0; begin + room <= stream.size(); begin += room) {
    append(tokenizer.prefix(), samples);
    samples.insert(samples.end(), stream.begin() + static_cast<std::ptrdiff_t>(begin),
                   stream.begin() + static_cast<std::ptrdiff_t>(begin + room));
    append(tokenizer.suffix(), samples);
  }
  return samples;
}

/// A text with the tokens around it, cut or filled up.
Numbers framed(const std::string& text, const Tokenizer& tokenizer, std::size_t length,
               std::int64_t filling) {
  Tokens tokens = tokenizer.encode(text);
  const std::size_t room = length - tokenizer.prefix().size() - tokenizer.suffix().size();
  if (tokens.size() > room) tokens.resize(room);
  Numbers row;
  append(tokenizer.prefix(), row);
  append(tokens, row);
  append(tokenizer.suffix(), row);
  row.resize(length, filling);
  return row;
}

std::string refused(const TokenizeOptions& options) {
  return complaint_of([&] { tokenize_samples(options); });
}

TEST_CASE("text becomes samples that are full, whatever the threads and parts",
          "[tokenize_samples]") {
  const TestFolder folder("tokenize_samples");
  const Tokenizer tokenizer = Tokenizer::read(bert);
  REQUIRE(tokenizer.prefix().size() == 1);
  const std::string first = folder.write("a.txt", story(200)),
                    second = folder.write("b.txt", "a mat\n");
  const Numbers expected = packed({story(200), "a mat\n"}, tokenizer, 24);
  for (const int threads : {1, 3}) {
    for (const std::size_t part_bytes : {std::size_t{500}, std::size_t{1} << 20U}) {
      const std::string output = folder.path("samples.h5");
      const TokenizeResult result = tokenize_samples({.texts = {first, second},
                                                      .output = output,
                                                      .tokenizer = bert,
                                                      .num_threads = threads,
                                                      .part_bytes = part_bytes,
                                                      .sequence_length = 24});
      const Table tokens = table_in(output, "input_ids");
      CHECK(tokens.columns == 24);
      CHECK(tokens.numbers == expected);
      CHECK(table_in(output, "token_type_ids").numbers == Numbers(expected.size(), 0));
      CHECK(result.num_samples * 24 == static_cast<std::int64_t>(expected.size()));
      CHECK(result.num_tokens == static_cast<std::int64_t>(expected.size()));
      CHECK(result.vocabulary_size == tokenizer.vocabulary_size());
      CHECK_FALSE(std::filesystem::exists(output + ".partial"));
    }
  }
}

TEST_CASE("samples that a tokenizer made can have positions hidden, and no labels beside",
          "[tokenize_samples]") {
  const TestFolder folder("tokenize_hidden");
  const std::string output = folder.path("samples.h5");
  const TokenizeResult result = tokenize_samples({.texts = {folder.write("a.txt", story(40))},
                                                  .output = output,
                                                  .tokenizer = bert,
                                                  .sequence_length = 16});
  const MaskedTextFile file(output, {16, result.vocabulary_size, 1, 1, "c.toml:4", false});
  REQUIRE(file.num_rows() == result.num_samples);
  Tokens tokens(16), types(16, 9);
  SampleSlot slot;
  slot.tokens = tokens.data();
  slot.token_types = types.data();
  file.row(1, slot);
  const Numbers expected = packed({story(40)}, Tokenizer::read(bert), 16);
  CHECK(Numbers(tokens.begin(), tokens.end()) ==
        Numbers(expected.begin() + 16, expected.begin() + 32));
  CHECK(types == Tokens(16, 0));
  const std::string labelled = complaint_of([&] {
    MaskedTextFile(output, {16, result.vocabulary_size, 1, 1, "c"});
  });
  CHECK_THAT(labelled, Catch::Contains("labels") && Catch::Contains("[data] mask_token"));
}

TEST_CASE("lines with two texts become pairs, cut and filled up", "[tokenize_samples]") {
  const TestFolder folder("tokenize_pairs");
  const Tokenizer tokenizer = Tokenizer::read(t5);
  REQUIRE(tokenizer.suffix().size() == 1);
  const std::int64_t padding = *tokenizer.token("<pad>");
  std::string lines;
  Numbers sources, targets;
  for (int i = 0; i < 120; ++i) {
    const std::string from = "cat " + std::to_string(i) + (i % 3 == 0 ? story(3) : ""),
                      to = i % 5 == 0 ? "" : "hat";
    std::string escaped = from;
    for (std::size_t at = 0; (at = escaped.find('\n', at)) != std::string::npos; at += 2)
      escaped.replace(at, 1, "\\n");
    lines += "{\"id\": 1, \"t\": {\"en\": \"" + escaped + "\", \"de\": \"" + to + "\"}}\n" +
             (i % 7 == 0 ? "\n" : "");
    const Numbers source = framed("say: " + from, tokenizer, 20, padding),
                  target = framed(to, tokenizer, 6, no_target);
    sources.insert(sources.end(), source.begin(), source.end());
    targets.insert(targets.end(), target.begin(), target.end());
  }
  const std::string output = folder.path("pairs.h5");
  TokenizeOptions options = {.texts = {folder.write("p.jsonl", lines)},
                             .output = output,
                             .tokenizer = t5,
                             .num_threads = 2,
                             .part_bytes = 700,
                             .sequence_length = 6,
                             .source_length = 20,
                             .pair_keys = {"t.en", "t.de"},
                             .source_prefix = "say: ",
                             .padding_token = "<pad>"};
  const TokenizeResult result = tokenize_samples(options);
  CHECK(table_in(output, "source").numbers == sources);
  CHECK(table_in(output, "target").numbers == targets);
  CHECK(result.num_samples == 120);
  CHECK(result.num_cut >= 40);  // a third is stories
  const SourceShape shape = {20, padding, padding};
  const PairFile file(output, {shape, 6, result.vocabulary_size, 1, "c.toml:4"});
  CHECK(file.num_rows() == 120);
  options.source_length = 0;
  tokenize_samples(options);
  CHECK(table_in(output, "source").columns == 6);
}

TEST_CASE("lines with one text or two become padded samples", "[tokenize_samples]") {
  const TestFolder folder("tokenize_segments");
  const Tokenizer tokenizer = Tokenizer::read(bert);
  const std::string lines = folder.write("s.jsonl", R"({"a": "the hat", "b": "a cat sat on the mat"}
{"a": "a cat sat on the mat", "b": "hat"}
{"a": "hat hat hat hat hat hat", "b": "mat mat mat mat mat mat"}
{"a": "", "b": "mat"}
)");
  TokenizeOptions options = {.texts = {lines},
                             .output = folder.path("out.h5"),
                             .tokenizer = bert,
                             .sequence_length = 10,
                             .segment_keys = {"a", "b"},
                             .padding_token = "[PAD]"};
  const auto words = [&](const char* text) {
    Numbers numbers;
    append(tokenizer.encode(text), numbers);
    return numbers;
  };
  const std::int64_t begin = *tokenizer.token("[CLS]"), end = *tokenizer.token("[SEP]");
  // How many tokens are left of each text where seven fit: the longer one is cut first, then both.
  const auto kept = [&](std::size_t first, std::size_t second) {
    if (first + second <= 7) return std::pair(first, second);
    const std::size_t less = std::min<std::size_t>(std::min(first, second), 3);
    return first > second ? std::pair(7 - less, less) : std::pair(less, 7 - less);
  };
  Numbers ids, types, mask;
  const std::vector<std::pair<const char*, const char*>> texts = {
      {"the hat", "a cat sat on the mat"},
      {"a cat sat on the mat", "hat"},
      {"hat hat hat hat hat hat", "mat mat mat mat mat mat"},
      {"", "mat"}};
  for (const auto& [one, other] : texts) {
    Numbers first = words(one), second = words(other);
    const auto [of_first, of_second] = kept(first.size(), second.size());
    first.resize(of_first), second.resize(of_second);
    Numbers row = {begin};
    row.insert(row.end(), first.begin(), first.end());
    row.push_back(end);
    Numbers row_types(row.size(), 0);
    row.insert(row.end(), second.begin(), second.end());
    row.push_back(end);
    row_types.resize(row.size(), 1);
    Numbers row_mask(row.size(), 1);
    row.resize(10, *tokenizer.token("[PAD]")), row_types.resize(10, 0), row_mask.resize(10, 0);
    ids.insert(ids.end(), row.begin(), row.end());
    types.insert(types.end(), row_types.begin(), row_types.end());
    mask.insert(mask.end(), row_mask.begin(), row_mask.end());
  }
  const TokenizeResult result = tokenize_samples(options);
  CHECK(result.num_samples == 4);
  CHECK(table_in(options.output, "input_ids").numbers == ids);
  CHECK(table_in(options.output, "token_type_ids").numbers == types);
  CHECK(table_in(options.output, "attention_mask").numbers == mask);
  const MaskedTextFile file(options.output, {10, result.vocabulary_size, 2, 1, "c.toml:4", false});
  CHECK(file.has_padding());
  options.segment_keys = {"b"};
  tokenize_samples(options);
  const Numbers alone = framed("hat", tokenizer, 10, *tokenizer.token("[PAD]"));
  const Numbers found = table_in(options.output, "input_ids").numbers;
  CHECK(Numbers(found.begin() + 10, found.begin() + 20) == alone);
  CHECK(table_in(options.output, "token_type_ids").numbers == Numbers(40, 0));
}

TEST_CASE("bad lines give no samples where they are left out", "[tokenize_samples]") {
  const TestFolder folder("tokenize_bad_lines");
  const std::string good = "{\"a\": \"cat\", \"b\": \"hat\"}\n";
  const std::string lines = folder.write(
      "p.jsonl", good + "{\"a\": \"cat\", \"b\": NaN}\n{\"a\": \"\", \"b\": \"\"}\n" + good);
  for (const bool pairs : {true, false}) {
    TokenizeOptions options = {.texts = {lines},
                               .output = folder.path("out.h5"),
                               .tokenizer = bert,
                               .special_tokens = false,
                               .sequence_length = 8,
                               .padding_token = "[PAD]"};
    (pairs ? options.pair_keys : options.segment_keys) = {"a", "b"};
    CHECK(refused(options).find("p.jsonl:2: this is no JSON object") != std::string::npos);
    options.skip_bad_lines = true;
    const TokenizeResult result = tokenize_samples(options);
    CHECK(result.num_samples == 2);
    CHECK(result.bad_lines.count == 2);
    const Numbers rows = table_in(options.output, pairs ? "source" : "input_ids").numbers;
    REQUIRE(rows.size() == 16);
    CHECK(Numbers(rows.begin(), rows.begin() + 8) == Numbers(rows.begin() + 8, rows.end()));
  }
}

TEST_CASE("samples that cannot be made are refused and leave nothing", "[tokenize_samples]") {
  const TestFolder folder("tokenize_bad");
  const std::string text = folder.write("a.txt", "a mat"), out = folder.path("out.h5");
  const std::string pairs =
      folder.write("p.jsonl", "{\"a\": \"cat\", \"b\": \"hat\"}\n{\"a\": \"cat\"}\n");
  TokenizeOptions options = {
      .texts = {text}, .output = out, .tokenizer = bert, .sequence_length = 64};
  CHECK_THAT(refused(options), Catch::Contains("a.txt: the text fills no sample of 64 tokens"));
  options.sequence_length = 2;
  CHECK_THAT(refused(options),
             Catch::Contains("--sequence-length: samples of 2 tokens have no room for text") &&
                 Catch::Contains("puts 2 tokens around each"));
  options = {.texts = {text},
             .output = out,
             .tokenizer = t5,
             .sequence_length = 8,
             .pair_keys = {"a", "b"}};
  CHECK_THAT(refused(options), Catch::Contains("a.txt: there are no pairs in it"));
  options = {.texts = {text},
             .output = out,
             .tokenizer = bert,
             .sequence_length = 8,
             .segment_keys = {"a", "b"}};
  CHECK_THAT(refused(options), Catch::Contains("a.txt: there are no segments in it"));
  options.texts = {pairs}, options.padding_token = "[PAD]";
  CHECK_THAT(refused(options), Catch::Contains("p.jsonl:2: there is no text below \"b\"") &&
                                   Catch::Contains("--segments"));
  options.sequence_length = 3;
  CHECK_THAT(refused(options), Catch::Contains("puts 3 tokens around each"));
  options.segment_keys = {};
  CHECK_THAT(refused(options), Catch::Contains("--pad-token: no sample is filled up"));
  options = {.texts = {text},
             .output = out,
             .tokenizer = t5,
             .sequence_length = 8,
             .pair_keys = {"a", "b"}};
  options.texts = {pairs};
  options.padding_token = "<no such>";
  CHECK_THAT(refused(options),
             Catch::Contains("--pad-token: the tokenizer has no token \"<no such>\""));
  options.padding_token = "<pad>";
  CHECK_THAT(refused(options), Catch::Contains("p.jsonl:2: there is no text below \"b\"") &&
                                   Catch::Contains("--pairs"));
  options.texts = {folder.write("blank.jsonl", "\n \n")};
  CHECK_THAT(refused(options), Catch::Contains("blank.jsonl: there is no pair in it"));
  options.texts = {folder.write("empty.jsonl", "{\"a\": \"\", \"b\": \"hat\"}\n")};
  options.special_tokens = false;
  CHECK_THAT(refused(options), Catch::Contains("empty.jsonl:1: the text below \"a\" has no token"));
  options.output = folder.path("none/out.h5");
  CHECK_THAT(refused(options),
             Catch::Contains("none/out.h5: cannot be written (No such file or directory)"));
  options.output = options.texts[0];
  CHECK_THAT(refused(options), Catch::Contains("overwrite the text"));
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK_FALSE(std::filesystem::exists(out + ".partial"));
}

TEST_CASE("files of samples say what made their tokens", "[samples]") {
  const TestFolder folder("samples_origin");
  const std::string text = folder.write("a.txt", story(40));
  const std::string lines = folder.write("a.jsonl", "{\"a\": \"the cat\", \"b\": \"sat\"}\n");
  TokenizeOptions options = {.texts = {text}, .output = folder.path("t.h5"), .tokenizer = bert};
  options.sequence_length = 16;
  tokenize_samples(options);
  const MaskedTextFile masked(options.output, {16, 400, 2, 1, "c.toml:3", false});
  REQUIRE(masked.origins().size() == 1);
  CHECK((masked.origins()[0].path == options.output && masked.origins()[0].where == "c.toml:3"));
  CHECK(masked.origins()[0].tokenizer == tokenizer_digest(Tokenizer::read(bert)));
  options.texts = {lines};
  options.segment_keys = {"a", "b"};
  options.padding_token = "[PAD]";
  tokenize_samples(options);
  CHECK(read_tokenizer(open_to_read(options.output)) == tokenizer_digest(Tokenizer::read(bert)));
  options.segment_keys.clear();
  options.pair_keys = {"a", "b"};
  options.tokenizer = t5;
  options.padding_token = "<pad>";
  tokenize_samples(options);
  const PairFile pairs(options.output, {{16, 0, 0}, 16, 400, 1, "c.toml:3"});
  CHECK(pairs.origins()[0].tokenizer == tokenizer_digest(Tokenizer::read(t5)));
  // Files that others have written do not name their tokenizer.
  const Hdf5Source others = open_to_read(test_data("models/bert/data.h5"));
  CHECK(read_tokenizer(others) == 0);
}

}  // namespace
}  // namespace pptrain
