#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/pair_table.hpp"
#include "io/hdf5/hdf5_read.hpp"
#include "io/samples/sample_file.hpp"

namespace pptrain {

/// What a file of pairs has to match.
struct PairFileOptions {
  SourceShape shape;
  std::int64_t length = 1;      ///< T, targets of a sample
  std::int64_t vocabulary = 1;  ///< tokens are below
  std::int64_t min_rows = 1;
  std::string source;  ///< place for messages: the configuration's file and line
};

/// An HDF5 file with /source (n, S) and /target (n, T), integers: the tokens that the encoder
/// reads, filled up with padding behind the end, and those that are predicted, -100 where nothing
/// is. Samples are read one by one; how long each source is and how many targets there are stays in
/// memory.
class PairFile final : public PairTable {
 public:
  /// Throws `Error` (exit code 2) where the file cannot be read, lacks a dataset or has one of
  /// another type or shape, has too few samples, no target at all, a source of padding alone, or a
  /// number that is no token.
  PairFile(const std::string& path, const PairFileOptions& options);

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(num_targets_.size()); }
  std::vector<TokenOrigin> origins() const override { return {file_.origin(tokenizer_)}; }

 private:
  void read_source(std::int64_t index, std::uint32_t* tokens) const override;
  void read_targets(std::int64_t index, std::int32_t* targets) const override;
  std::int64_t source_length(std::int64_t index) const override {
    return source_lengths_[static_cast<std::size_t>(index)];
  }
  std::int64_t num_targets(std::int64_t index) const override {
    return num_targets_[static_cast<std::size_t>(index)];
  }

  void open();
  void check();
  void check_sources(Interval rows);
  void check_targets(Interval rows);
  void check_token(std::int64_t value, std::int64_t row, std::int64_t position,
                   bool is_target) const;
  template <class T>
  void read(const Hdf5Array& array, std::int64_t index, T* out) const;

  SampleFile file_;
  std::uint64_t tokenizer_ = 0;  ///< digest of what made the tokens; 0: the file does not say
  PairFileOptions options_;
  std::optional<Hdf5Array> sources_, targets_;
  std::vector<std::int32_t> source_lengths_, num_targets_;
};

}  // namespace pptrain
