#pragma once

#include <optional>
#include <string>

#include "data/feature_dataset.hpp"
#include "io/samples/stored_images.hpp"

namespace pptrain {

/// What a file of drawings has to match.
struct DrawingFileOptions {
  std::int64_t inputs = 1;  ///< d
  ImageShape image;
  std::int64_t min_rows = 1;
  std::string source;  ///< place for messages: the configuration's file and line
};

/// An HDF5 file with /latents (n, d), floating-point, and /images (`StoredImages`) that are to be
/// drawn from them. Both are read one by one.
class DrawingFile final : public FeatureTable {
 public:
  /// Throws `Error` (exit code 2) where the file cannot be read, lacks a dataset or has one of
  /// another type or shape, has too few images, or a number or pixel that is none.
  DrawingFile(const std::string& path, const DrawingFileOptions& options);

  std::int64_t num_rows() const override { return images_.count(); }
  void row(std::int64_t index, const SampleSlot& slot) const override;

 private:
  void open();
  void check_latents() const;

  SampleFile file_;
  DrawingFileOptions options_;
  std::optional<Hdf5Array> latents_;
  StoredImages images_;
};

}  // namespace pptrain
