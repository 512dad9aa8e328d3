#pragma once

#include <cstdint>

#include "config/layer_forms.hpp"

/// Forms of the operators that kernels and descriptions share. CUDA sources include this: C++17.
namespace pptrain {

/// y = (x - mean) / sqrt(variance + epsilon) * gain + offset over the columns of a row, with the
/// biased variance (Ba et al., arXiv:1607.06450). `rms` has mean 0, variance mean(x^2) and no
/// offset (Zhang and Sennrich, arXiv:1910.07467). With `one_plus` the gain is 1 + the parameter, as
/// Gemma has it.
struct NormForm {
  NormKind kind = NormKind::layer;
  float epsilon = 1e-5F;
  bool one_plus = false;
};

/// A rectangle that slides over a feature map of `height` x `width` pixels, with `padding` more on
/// each side, by `stride` pixels at a time. A feature map has a row for each pixel, row by row of
/// the image, and a column for each channel.
struct Window {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;

  /// Places of the rectangle, which are the pixels of the result.
  std::int64_t out_height() const { return (height + 2 * padding - kernel_height) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * padding - kernel_width) / stride + 1; }
  std::int64_t pixels() const { return height * width; }  ///< pixels of the map, without padding
  std::int64_t out_pixels() const { return out_height() * out_width(); }  ///< pixels of the result
  std::int64_t area() const {
    return kernel_height * kernel_width;
  }  ///< pixels under the rectangle, padding included
  /// Whether there is a place at all, and every place has a pixel of the map.
  bool fits() const {
    return height > 0 && width > 0 && kernel_height <= height + 2 * padding &&
           kernel_width <= width + 2 * padding && padding < kernel_height && padding < kernel_width;
  }
};

/// Pixels of a feature map.
struct MapSize {
  std::int64_t height = 1;
  std::int64_t width = 1;

  std::int64_t pixels() const { return height * width; }  ///< rows that each sample has
};

}  // namespace pptrain
