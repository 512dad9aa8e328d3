#pragma once

#include <cstdint>

#include "model/model.hpp"

namespace pptrain {

/// How images of the training are changed at random, so that a model does not see the same one
/// twice: moved by up to `crop_padding` pixels in each direction, with zeros where nothing was, and
/// mirrored in half of the cases (He et al., "Deep residual learning for image recognition", 2015,
/// section 4.2). What is drawn follows from seed and number of the sample.
struct ImageAugmentation {
  std::int64_t crop_padding = 0;
  bool flip = false;
  std::uint64_t seed = 0;

  /// Whether images are changed at all.
  bool changes() const { return crop_padding > 0 || flip; }
  /// Writes sample `number` of the training from an image; both are (channel, row, column) and
  /// apart.
  void apply(const ImageShape& shape, std::int64_t number, const float* pixels,
             float* changed) const;
};

}  // namespace pptrain
