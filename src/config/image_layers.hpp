#pragma once

#include <cstdint>
#include <optional>

#include "config/layer_forms.hpp"

// Layers of a network that reads images, or draws them, which the user writes down as
// [[model.layer]]. `visit` has the keys of each.
namespace pptrain {

class KeyVisitor;

/// What a network of images reads.
struct ImagesConfig {
  static constexpr const char* name = "images";
  std::int64_t image_size = 224;  ///< pixels of a side
  std::int64_t channels = 3;      ///< of an image
};
void visit(KeyVisitor& visitor, ImagesConfig& layer);

/// What the pixels under a window become, behind the last of equal layers.
struct PoolConfig {
  std::optional<PoolKind> kind;  ///< nothing: there is no pooling
  std::int64_t size = 2;         ///< pixels of a side; 0: the whole map
  std::int64_t stride = 0;       ///< 0: as `size`
  std::int64_t padding = 0;

  /// Side and stride of the window over a map of `map_side` x `map_side` pixels.
  std::int64_t side(std::int64_t map_side) const { return size > 0 ? size : map_side; }
  /// Stride of the window in pixels: where `stride` is 0, the side of the window, so that windows
  /// do not overlap.
  std::int64_t step(std::int64_t map_side) const { return stride > 0 ? stride : side(map_side); }
};

/// Equal convolutions.
struct ConvolutionConfig {
  static constexpr const char* name = "convolution";
  std::int64_t repeat = 1;              ///< how many follow one another
  std::int64_t channels = 64;           ///< of the result
  std::int64_t kernel = 3;              ///< pixels of a side
  std::int64_t stride = 1;              ///< of the first of `repeat`
  std::optional<std::int64_t> padding;  ///< nothing: half the kernel
  bool batch_norm = false;              ///< in place of a bias
  double epsilon = 1e-5;
  std::optional<Activation> activation = Activation::relu;  ///< nothing: none
  PoolConfig pool;

  /// Pixels of padding at each edge of the map: half the kernel, rounded down, where `padding` says
  /// nothing.
  std::int64_t padded_by() const { return padding.value_or(kernel / 2); }
};
void visit(KeyVisitor& visitor, ConvolutionConfig& layer);

/// Equal residual blocks.
struct ResidualConfig {
  static constexpr const char* name = "residual";
  std::int64_t repeat = 1;
  std::int64_t channels = 64;  ///< of the result
  std::int64_t inner = 0;      ///< channels within a bottleneck; 0: two convolutions of 3 x 3
  std::int64_t wide = 0;       ///< channels behind its 3 x 3; 0: `inner`
  std::int64_t stride = 1;     ///< of the first of `repeat`
  double epsilon = 1e-5;
  Activation activation = Activation::relu;
  PoolConfig pool;
};
void visit(KeyVisitor& visitor, ResidualConfig& layer);

/// Equal dense layers.
struct DenseConfig {
  static constexpr const char* name = "dense";
  std::int64_t repeat = 1;
  std::int64_t columns = 64;
  Activation activation = Activation::relu;
};
void visit(KeyVisitor& visitor, DenseConfig& layer);

/// The product with the classes, and the loss.
struct ClassesConfig {
  static constexpr const char* name = "classes";
  std::int64_t classes = 10;
};
void visit(KeyVisitor& visitor, ClassesConfig& layer);

/// Numbers that become a small map, from which an image is drawn.
struct LatentConfig {
  static constexpr const char* name = "latent";
  std::int64_t inputs = 64;       ///< numbers of a sample
  std::int64_t image_size = 224;  ///< pixels of a side of the map
  std::int64_t columns = 64;      ///< numbers of each of its pixels
  bool positions = false;         ///< each pixel has a row of a table
};
void visit(KeyVisitor& visitor, LatentConfig& layer);

/// A map gets twice the side.
struct EnlargeConfig {
  static constexpr const char* name = "enlarge";
  EnlargeKind method = EnlargeKind::bicubic;
  bool positions = false;  ///< each pixel has a row of a table
};
void visit(KeyVisitor& visitor, EnlargeConfig& layer);

/// The pixels of an image, and the loss.
struct PixelsConfig {
  static constexpr const char* name = "pixels";
  std::int64_t channels = 3;  ///< of an image
};
void visit(KeyVisitor& visitor, PixelsConfig& layer);

}  // namespace pptrain
