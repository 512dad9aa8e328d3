#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/feature_dataset.hpp"
#include "io/hdf5/hdf5_read.hpp"
#include "io/samples/sample_file.hpp"

namespace pptrain {

/// What a file of tokens with labels has to match.
struct MaskedTextOptions {
  std::int64_t length = 1;       ///< T, positions of a sample
  std::int64_t vocabulary = 1;   ///< tokens and labels are below
  std::int64_t token_types = 1;  ///< types are below
  std::int64_t min_rows = 1;
  std::string source;    ///< place for messages: the configuration's file and line
  bool labelled = true;  ///< false: positions are hidden as samples are read, and the file has no
                         ///< /labels
};

/// An HDF5 file with /input_ids, /token_type_ids and /labels, integers (n, T): the tokens of each
/// sample as the model reads them, their types, and, where it is labelled, what is to be predicted
/// at each position, -100 where nothing is. With /attention_mask (n, T), ones and behind them
/// zeros, tokens under a zero are padding: nothing attends to them, and they have no label. Samples
/// are read one by one; how many labels each has, and how long it is, stays in memory.
class MaskedTextFile final : public FeatureTable {
 public:
  /// Throws `Error` (exit code 2) where the file cannot be read, lacks a dataset or has one of
  /// another type or shape, has too few samples, no label at all, or a number that is out of range.
  MaskedTextFile(const std::string& path, const MaskedTextOptions& options);

  std::int64_t num_rows() const override { return tokens_->shape()[0]; }
  void row(std::int64_t index, const SampleSlot& slot) const override;
  bool has_padding() const override { return has_padding_; }
  std::vector<TokenOrigin> origins() const override { return {file_.origin(tokenizer_)}; }

 private:
  void open();
  void check();
  void check_rows(Interval rows);
  void check_mask(Interval rows);
  void check_label_place(std::int64_t row, std::int64_t position) const;
  void refuse_labels(const Hdf5Source& source) const;
  /// Reads a row of numbers below `end`; labels may be none.
  template <class T>
  void read(const Hdf5Array& array, std::int64_t end, std::int64_t index, T* out) const;

  SampleFile file_;
  std::uint64_t tokenizer_ = 0;  ///< digest of what made the tokens; 0: the file does not say
  MaskedTextOptions options_;
  std::optional<Hdf5Array> tokens_, types_, labels_, mask_;
  std::vector<std::int32_t> num_labels_;
  std::vector<std::int32_t> lengths_;  ///< positions of each sample before its padding; empty
                                       ///< without a mask
  bool has_padding_ = false;
};

}  // namespace pptrain
