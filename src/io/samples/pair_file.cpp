#include "io/samples/pair_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace pptrain {
namespace {

constexpr std::int64_t most_bytes_of_pairs = std::int64_t{1} << 50;  // read block by block
constexpr std::int64_t most_pairs = std::int64_t{1} << 33;  // two numbers of each are kept in
                                                            // memory

/// Calls `check` for blocks of rows with about a million numbers, so that a large file is never in
/// memory whole.
template <class Check>
void in_blocks(std::int64_t rows, std::int64_t length, const Check& check) {
  const std::int64_t block = std::max<std::int64_t>(1, (1 << 20) / length);
  for (std::int64_t first = 0; first < rows; first += block)
    check(Interval{first, std::min(first + block, rows)});
}

}  // namespace

PairFile::PairFile(const std::string& path, const PairFileOptions& options)
    : PairTable(options.shape, options.length), file_(path, options.source), options_(options) {
  file_.open({"/source and /target", "both datasets",
              "correct [training] source_length, sequence_length or the file"},
             [this] {
               open();
               check();
             });
}

void PairFile::open() {
  const Hdf5Source source = open_to_read(file_.path());
  tokenizer_ = read_tokenizer(source);
  const auto of = [&](const char* name, std::int64_t rows, std::int64_t length) {
    return Hdf5Array(Hdf5Array::Place::dataset, source.file, name,
                     {Hdf5Expected::Kind::integer, {rows, length}, most_bytes_of_pairs});
  };
  sources_.emplace(of("source", Hdf5Expected::any, shape().length));
  const std::int64_t rows = sources_->shape()[0];
  targets_.emplace(of("target", rows, length()));
  if (rows < options_.min_rows || rows > most_pairs) {
    file_.refuse(fmt::format("{} samples", rows),
                 fmt::format("{} to {} can be read", options_.min_rows, most_pairs),
                 "name other data");
  }
  source_lengths_.resize(static_cast<std::size_t>(rows));
  num_targets_.resize(static_cast<std::size_t>(rows));
}

void PairFile::check() {
  in_blocks(num_rows(), shape().length, [this](Interval rows) { check_sources(rows); });
  in_blocks(num_rows(), length(), [this](Interval rows) { check_targets(rows); });
  if (std::accumulate(num_targets_.begin(), num_targets_.end(), std::int64_t{0}) > 0) return;
  file_.refuse("nothing is to be predicted",
               fmt::format("all numbers of /target are {}", no_target),
               "give the tokens that are to be predicted");
}

void PairFile::check_token(std::int64_t value, std::int64_t row, std::int64_t position,
                           bool is_target) const {
  if (0 <= value && value < options_.vocabulary) return;
  file_.refuse(
      fmt::format("sample {} has {} at position {} of /{}", row, value, position,
                  is_target ? "target" : "source"),
      fmt::format(
          "the model has tokens 0 to {}{}", options_.vocabulary - 1,
          is_target ? fmt::format(", and {} says that nothing is predicted", no_target) : ""),
      "use the model that belongs to the data, or correct the file");
}

void PairFile::check_sources(Interval rows) {
  const std::int64_t length = shape().length;
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows.size() * length));
  sources_->rows(rows, values.data());
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::int32_t& end = source_lengths_[static_cast<std::size_t>(row)];
    for (std::int64_t s = 0; s < length; ++s) {
      const std::int64_t value = values[static_cast<std::size_t>((row - rows.begin) * length + s)];
      check_token(value, row, s, false);
      if (value != shape().padding) end = static_cast<std::int32_t>(s + 1);
    }
    if (end > 0) continue;
    file_.refuse(fmt::format("the source of sample {} is empty", row),
                 fmt::format("all its tokens are {}, which fills sources up behind their end",
                             shape().padding),
                 "leave the sample out, or correct pad_token_id in config.json");
  }
}

void PairFile::check_targets(Interval rows) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows.size() * length()));
  targets_->rows(rows, values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == no_target) continue;
    const std::int64_t place = static_cast<std::int64_t>(i);
    check_token(values[i], rows.begin + place / length(), place % length(), true);
    ++num_targets_[static_cast<std::size_t>(rows.begin + place / length())];
  }
}

template <class T>
void PairFile::read(const Hdf5Array& array, std::int64_t index, T* out) const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(array.shape()[1]));
  file_.read("sample", index, [&] { array.rows({index, index + 1}, values.data()); });
  file_.check_still_below(options_.vocabulary, &array == &*targets_, index, values);
  std::transform(values.begin(), values.end(), out,
                 [](std::int64_t value) { return static_cast<T>(value); });
}

void PairFile::read_source(std::int64_t index, std::uint32_t* tokens) const {
  read(*sources_, index, tokens);
}

void PairFile::read_targets(std::int64_t index, std::int32_t* targets) const {
  read(*targets_, index, targets);
}

}  // namespace pptrain
