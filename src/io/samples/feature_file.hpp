#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/feature_dataset.hpp"
#include "io/hdf5/hdf5_read.hpp"
#include "io/samples/sample_file.hpp"

namespace pptrain {

/// What a file of features has to match.
struct FeatureFileOptions {
  std::int64_t inputs = 1;    ///< d
  std::int64_t classes = 2;   ///< labels are below
  std::int64_t min_rows = 1;  ///< a global batch
  std::string source;         ///< place for messages: the configuration's file and line
};

/// An HDF5 file with /features (n, d), floating-point, and /labels (n), integers. Labels stay in
/// memory, features are read row by row.
class FeatureFile final : public FeatureTable {
 public:
  /// Throws `Error` (exit code 2) where the file cannot be read, lacks a dataset or has one of
  /// another type or shape, has fewer rows than a batch, a label that is no class, or a feature
  /// that is no number.
  FeatureFile(const std::string& path, const FeatureFileOptions& options);

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(labels_.size()); }
  void row(std::int64_t index, const SampleSlot& slot) const override;

 private:
  void open();
  void read_labels(const Hdf5Handle& file);
  void check_features() const;

  SampleFile file_;
  FeatureFileOptions options_;
  std::optional<Hdf5Array> features_;
  std::vector<std::int32_t> labels_;
};

}  // namespace pptrain
