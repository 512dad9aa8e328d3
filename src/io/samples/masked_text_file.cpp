#include "io/samples/masked_text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace pptrain {
namespace {

constexpr std::int64_t most_table_bytes = std::int64_t{1} << 50;  // read block by block
constexpr std::int64_t most_table_rows = std::int64_t{1} << 34;   // a count of each is kept in
                                                                  // memory

bool has_dataset(const Hdf5Source& source, const char* name) {
  return check_hdf5(H5Lexists(source.file.get(), name, H5P_DEFAULT), "looking for a dataset") > 0;
}

}  // namespace

MaskedTextFile::MaskedTextFile(const std::string& path, const MaskedTextOptions& options)
    : file_(path, options.source), options_(options) {
  const SampleFile::Wording labelled = {
      "/input_ids, /token_type_ids and /labels",
      "the three datasets, or set [data] mask_token where there are no /labels",
      "correct [training] sequence_length or the file"};
  const SampleFile::Wording unlabelled = {"/input_ids and /token_type_ids", "both datasets",
                                          labelled.correction};
  file_.open(options_.labelled ? labelled : unlabelled, [this] {
    open();
    check();
  });
}

void MaskedTextFile::open() {
  const Hdf5Source source = open_to_read(file_.path());
  tokenizer_ = read_tokenizer(source);
  const auto of = [&](const char* name, std::int64_t rows) {
    return Hdf5Array(Hdf5Array::Place::dataset, source.file, name,
                     {Hdf5Expected::Kind::integer, {rows, options_.length}, most_table_bytes});
  };
  tokens_.emplace(of("input_ids", Hdf5Expected::any));
  const std::int64_t rows = tokens_->shape()[0];
  types_.emplace(of("token_type_ids", rows));
  if (options_.labelled) {
    labels_.emplace(of("labels", rows));
  } else {
    refuse_labels(source);
  }
  if (rows < options_.min_rows || rows > most_table_rows) {
    file_.refuse(fmt::format("{} samples", rows),
                 fmt::format("{} to {} can be read", options_.min_rows, most_table_rows),
                 "name other data");
  }
  if (options_.labelled) num_labels_.resize(static_cast<std::size_t>(rows));
  if (!has_dataset(source, "attention_mask")) return;
  mask_.emplace(of("attention_mask", rows));
  lengths_.resize(static_cast<std::size_t>(rows));
}

/// Refuses a file with /labels: some of its tokens are hidden already, and others would be hidden
/// beside them.
void MaskedTextFile::refuse_labels(const Hdf5Source& source) const {
  if (!has_dataset(source, "labels")) return;
  file_.refuse("it has /labels",
               "[data] mask_token hides tokens as they are read, and here some are hidden already",
               "leave mask_token out, or give the text without /labels");
}

/// Reads in blocks, so that a large file is never in memory whole.
void MaskedTextFile::check() {
  const std::int64_t block = std::max<std::int64_t>(1, (1 << 20) / options_.length);
  for (std::int64_t first = 0; first < num_rows(); first += block) {
    check_rows({first, std::min(first + block, num_rows())});
  }
  if (!options_.labelled ||
      std::accumulate(num_labels_.begin(), num_labels_.end(), std::int64_t{0}) > 0)
    return;
  file_.refuse("no position has a label", fmt::format("all numbers of /labels are {}", no_target),
               "give the tokens that are to be predicted at some positions");
}

void MaskedTextFile::check_rows(Interval rows) {
  if (mask_) check_mask(rows);
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows.size() * options_.length));
  const auto check = [&](const Hdf5Array& array, const char* name, const char* what,
                         std::int64_t end, bool is_label) {
    array.rows(rows, values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t row = rows.begin + static_cast<std::int64_t>(i) / options_.length;
      if (is_label && values[i] == no_target) continue;
      if (is_label && mask_) check_label_place(row, static_cast<std::int64_t>(i) % options_.length);
      if (is_label) ++num_labels_[static_cast<std::size_t>(row)];
      if (0 <= values[i] && values[i] < end) continue;
      file_.refuse(
          fmt::format("sample {} has {} at position {} of /{}", row, values[i],
                      static_cast<std::int64_t>(i) % options_.length, name),
          fmt::format(
              "the model has {} 0 to {}{}", what, end - 1,
              is_label ? fmt::format(", and {} says that there is no label", no_target) : ""),
          "use the model that belongs to the data, or correct the file");
    }
  };
  check(*tokens_, "input_ids", "tokens", options_.vocabulary, false);
  check(*types_, "token_type_ids", "token types", options_.token_types, false);
  if (labels_) check(*labels_, "labels", "tokens", options_.vocabulary, true);
}

/// Finds how long samples are. A mask with a zero in front of a one would hide what is no end of a
/// sample.
void MaskedTextFile::check_mask(Interval rows) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows.size() * options_.length));
  mask_->rows(rows, values.data());
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const auto begin = values.begin() + r * options_.length, end = begin + options_.length;
    const auto padding = std::find_if(begin, end, [](std::int64_t value) { return value != 1; });
    const auto other = std::find_if(padding, end, [](std::int64_t value) { return value != 0; });
    if (padding == begin || other != end) {
      const auto wrong = padding == begin ? begin : other;
      file_.refuse(
          fmt::format("sample {} has {} at position {} of /attention_mask", rows.begin + r, *wrong,
                      wrong - begin),
          "it is 1 at the first positions, one at least, and 0 at padding, which is behind them",
          "put padding behind the text");
    }
    lengths_[static_cast<std::size_t>(rows.begin + r)] = static_cast<std::int32_t>(padding - begin);
    has_padding_ = has_padding_ || padding != end;
  }
}

void MaskedTextFile::check_label_place(std::int64_t row, std::int64_t position) const {
  if (position < lengths_[static_cast<std::size_t>(row)]) return;
  file_.refuse(fmt::format("sample {} has a label at position {}", row, position),
               "that is padding, as /attention_mask says",
               fmt::format("write {} there", no_target));
}

template <class T>
void MaskedTextFile::read(const Hdf5Array& array, std::int64_t end, std::int64_t index,
                          T* out) const {
  if (out == nullptr) return;
  std::vector<std::int64_t> values(static_cast<std::size_t>(options_.length));
  file_.read("sample", index, [&] { array.rows({index, index + 1}, values.data()); });
  file_.check_still_below(end, labels_ && &array == &*labels_, index, values);
  std::transform(values.begin(), values.end(), out,
                 [](std::int64_t value) { return static_cast<T>(value); });
}

void MaskedTextFile::row(std::int64_t index, const SampleSlot& slot) const {
  if (labels_ && slot.num_targets != nullptr)
    *slot.num_targets = num_labels_[static_cast<std::size_t>(index)];
  if (slot.input_length != nullptr) {
    *slot.input_length = mask_ ? lengths_[static_cast<std::size_t>(index)]
                               : static_cast<std::int32_t>(options_.length);
  }
  read(*tokens_, options_.vocabulary, index, slot.tokens);
  read(*types_, options_.token_types, index, slot.token_types);
  if (labels_) read(*labels_, options_.vocabulary, index, slot.targets);
}

}  // namespace pptrain
