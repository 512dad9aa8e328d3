#pragma once

#include <optional>
#include <vector>

#include "io/hdf5/hdf5_read.hpp"
#include "io/samples/sample_file.hpp"
#include "model/model.hpp"

namespace pptrain {

/// The dataset /images (n, channels, height, width) of an HDF5 file. Pixels are floating-point
/// numbers, which are taken as they are, or whole numbers p from 0 to 255, taken as p / 127.5 - 1.
/// They are read when they are asked for.
class StoredImages {
 public:
  /// `file`: of which messages are; it outlives this.
  StoredImages(const SampleFile& file, const ImageShape& shape) : file_(file), shape_(shape) {}

  /// Throws `Hdf5Mismatch` where the dataset has another type or shape, `Error` (exit code 2) where
  /// there are fewer than `least` images.
  void open(const Hdf5Source& source, std::int64_t least);
  /// Throws `Error` (exit code 2) where a pixel is no number, or none of 8 bits.
  void check() const;
  /// Images in the file; call after `open`.
  std::int64_t count() const { return images_->shape()[0]; }
  /// Pixels (channel, row, column) of an image. Throws `Error` (exit code 4) where the file cannot
  /// be read any more.
  std::vector<float> image(std::int64_t index) const;

 private:
  /// Images as they lie in the file.
  void read(Interval rows, float* pixels) const;

  const SampleFile& file_;
  ImageShape shape_;
  std::optional<Hdf5Array> images_;
  bool whole_numbers_ = false;
};

}  // namespace pptrain
