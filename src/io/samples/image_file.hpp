#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/feature_dataset.hpp"
#include "io/samples/image_augmentation.hpp"
#include "io/samples/sample_file.hpp"
#include "io/samples/stored_images.hpp"
#include "model/model.hpp"

namespace pptrain {

/// What a file of images has to match.
struct ImageFileOptions {
  ImageShape image;
  std::int64_t classes = 2;  ///< labels are below
  std::int64_t min_rows = 1;
  std::string source;                   ///< place for messages: the configuration's file and line
  ImageAugmentation augmentation = {};  ///< of samples of the training
};

/// An HDF5 file with /images (`StoredImages`) and /labels (n), integers. Labels stay in memory,
/// images are read one by one, patch by patch as `ImageShape` says.
class ImageFile final : public FeatureTable {
 public:
  /// Throws `Error` (exit code 2) where the file cannot be read, lacks a dataset or has one of
  /// another type or shape, has too few images, a label that is no class, or a pixel that is no
  /// number.
  ImageFile(const std::string& path, const ImageFileOptions& options);

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(labels_.size()); }
  void row(std::int64_t index, const SampleSlot& slot) const override;
  void training_row(std::int64_t index, std::int64_t number, const SampleSlot& slot) const override;

 private:
  void open();
  void read_labels(const Hdf5Handle& file);
  /// A row as it is, or changed as sample `number` of the training is.
  void fill(std::int64_t index, std::optional<std::int64_t> number, const SampleSlot& slot) const;

  SampleFile file_;
  ImageFileOptions options_;
  StoredImages images_;
  std::vector<std::int32_t> labels_;
};

/// Pixels (channel, row, column) of an image in the order in which a model reads them: patch by
/// patch, row by row of patches, (channel, row, column) within a patch; as they are without
/// patches.
void order_pixels(const ImageShape& shape, const float* pixels, float* ordered);

}  // namespace pptrain
