#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <variant>

#include "model/graph/image_layers.hpp"
#include "model/written/networks.hpp"

namespace pptrain {
namespace {

/// Layers of the chain are numbered from 0: each convolution, each residual block, each pair of
/// dense layers.
class OwnImages {
 public:
  OwnImages(const ModelConfig& config, const TrainingConfig& training)
      : config_(config),
        compute_bytes_(element_bytes(training.precision)),
        image_(image_of(std::get<ImagesConfig>(config.layer.front().kind))),
        map_{image_.height, image_.channels},
        columns_(std::gcd(dense_units(dense_layers(config)),
                          common_channels(residual_blocks(config)))) {}

  Model build() {
    const std::int64_t classes = std::get<ClassesConfig>(config_.layer.back().kind).classes;
    model_.name = config_.name;
    model_.sample = {1, image_.pixels(), classes, 0, image_};
    for (const LayerConfig& layer : config_.layer) {
      if (const auto* convolution = layer.as<ConvolutionConfig>()) add(*convolution);
      if (const auto* block = layer.as<ResidualConfig>()) add(*block);
    }
    Port in = map_.port();
    for (std::size_t i = 0; i < dense_.size(); i += 2) {
      model_.layers.push_back(dense_pair(dense_, i, in, columns_, compute_bytes_));
      in = {1, dense_[std::min(i + 1, dense_.size() - 1)].columns};
    }
    const ShardAxis axis = dense_.empty() ? ShardAxis::classes : ShardAxis::none;
    model_.layers.push_back(class_output("classes", in, classes, axis, compute_bytes_));
    if (columns_ > 0) model_.axes[ShardAxis::columns] = columns_;
    if (dense_.empty()) model_.axes[ShardAxis::classes] = classes;
    return std::move(model_);
  }

 private:
  static ImageShape image_of(const ImagesConfig& images) {
    return {images.channels, images.image_size, images.image_size, 1};
  }

  static std::vector<DenseLayer> dense_layers(const ModelConfig& config) {
    std::vector<DenseLayer> layers;
    for (const LayerConfig& layer : config.layer) {
      const auto* dense = layer.as<DenseConfig>();
      for (std::int64_t i = 0; dense != nullptr && i < dense->repeat; ++i) {
        layers.push_back(
            {fmt::format("dense.{}", layers.size()), dense->columns, dense->activation});
      }
    }
    return layers;
  }

  static std::vector<ResidualShape> residual_blocks(const ModelConfig& config) {
    std::vector<ResidualShape> blocks;
    for (const LayerConfig& layer : config.layer) {
      if (const auto* block = layer.as<ResidualConfig>())
        blocks.push_back(residual_shape(*block, block->stride));
    }
    return blocks;
  }

  static ResidualShape residual_shape(const ResidualConfig& layer, std::int64_t stride) {
    ResidualShape shape;
    shape.out = layer.channels;
    shape.inner = layer.inner;
    shape.wide = layer.wide;
    shape.stride = stride;
    shape.activation = shape.inner_activation = layer.activation;
    shape.epsilon = layer.epsilon;
    return shape;
  }

  void add(const ConvolutionConfig& layer) {
    add_repeated("convolution", layer, [&](LayerGraph& g, ValueIndex x, std::int64_t stride) {
      return convolution(g, x, layer, stride);
    });
  }

  void add(const ResidualConfig& layer) {
    add_repeated("block", layer, [&](LayerGraph& g, ValueIndex x, std::int64_t stride) {
      return residual_block(g, x, map_, residual_shape(layer, stride), columns_);
    });
  }

  /// `repeat` layers: only the first has the stride, only the last the pooling. `compute(graph, x,
  /// stride)`: what is between.
  template <class Config, class Compute>
  void add_repeated(const char* name, const Config& layer, const Compute& compute) {
    for (std::int64_t i = 0; i < layer.repeat; ++i) {
      const std::size_t number = model_.layers.size();
      LayerGraph g(fmt::format("{}.{}", name, number), fmt::format("layers.{}.", number));
      ValueIndex x =
          number == 0 ? g.features(image_.channels, map_.side * map_.side) : g.input(map_.port());
      x = compute(g, x, i == 0 ? layer.stride : 1);
      if (i + 1 == layer.repeat && layer.pool.kind) x = pool(g, x, layer.pool);
      g.output(x);
      model_.layers.push_back(g.finish(compute_bytes_));
    }
  }

  ValueIndex convolution(LayerGraph& g, ValueIndex x, const ConvolutionConfig& layer,
                         std::int64_t stride) {
    const Window window = map_.window(layer.kernel, stride, layer.padded_by());
    if (layer.batch_norm) {
      x = normalised(g, "", x, map_, {.window = window, .out = layer.channels}, layer.epsilon);
    } else {
      x = g.convolution("convolution", x, {.window = window, .out = layer.channels, .bias = true});
      map_ = {window.out_height(), layer.channels};
    }
    return layer.activation ? g.activate(x, *layer.activation) : x;
  }

  ValueIndex pool(LayerGraph& g, ValueIndex x, const PoolConfig& pool) {
    const Window window = map_.window(pool.side(map_.side), pool.step(map_.side), pool.padding);
    map_.side = window.out_height();
    return g.pool(x, *pool.kind, window);
  }

  const ModelConfig& config_;
  double compute_bytes_;
  ImageShape image_;
  FeatureMap map_;  ///< that the next layer reads
  std::vector<DenseLayer> dense_ = dense_layers(config_);
  std::int64_t columns_;  ///< length of the axis that dense layers and residual blocks are divided
                          ///< along
  Model model_;
};

}  // namespace

Model build_own_images(const ModelConfig& model, const TrainingConfig& training) {
  return OwnImages(model, training).build();
}

}  // namespace pptrain
