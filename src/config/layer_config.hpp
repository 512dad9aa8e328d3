#pragma once

#include <string>
#include <variant>
#include <vector>

#include "config/image_layers.hpp"
#include "config/text_layers.hpp"

namespace pptrain {

/// Equal layers of a network that the user writes down. A network of texts has an embedding, blocks
/// and an output; one that reads images has images, convolutions and residual blocks, dense layers
/// and classes; one that draws images has a latent layer, blocks and enlarging layers, and pixels.
struct LayerConfig {
  /// In the order of messages.
  using Kind = std::variant<EmbeddingConfig, BlockConfig, OutputConfig, ImagesConfig,
                            ConvolutionConfig, ResidualConfig, DenseConfig, ClassesConfig,
                            LatentConfig, EnlargeConfig, PixelsConfig>;
  Kind kind = BlockConfig();

  /// The layer as one of this kind; null where it is of another.
  template <class One>
  const One* as() const {
    return std::get_if<One>(&kind);
  }
  template <class One>
  bool is() const {
    return std::holds_alternative<One>(kind);
  }
  /// The name of its kind.
  std::string name() const;
};

/// A layer of each kind with its defaults, in the order of the kinds.
std::vector<LayerConfig> layers_of_all_kinds();

}  // namespace pptrain
