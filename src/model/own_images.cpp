#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/image_layers.hpp"
#include "model/own_network.hpp"

namespace pptrain {
namespace {

/// Layers of the chain are numbered from 0: each convolution, each residual block, each pair of dense layers.
class OwnImages {
 public:
  OwnImages(const ModelConfig& config, const TrainingConfig& training)
      : config_(config),
        compute_bytes_(element_bytes(training.precision)),
        image_{config.layer.front().colours, config.layer.front().image_size, config.layer.front().image_size, 1},
        map_{image_.height, image_.channels},
        columns_(std::gcd(dense_units(dense_layers(config)), common_channels(residual_blocks(config)))) {}

  Model build() {
    const std::int64_t classes = config_.layer.back().classes;
    model_.name = config_.name;
    model_.sample = {1, image_.pixels(), classes, 0, image_};
    for (const LayerConfig& layer : config_.layer) add(layer);
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
  static std::vector<DenseLayer> dense_layers(const ModelConfig& config) {
    std::vector<DenseLayer> layers;
    for (const LayerConfig& layer : config.layer) {
      for (std::int64_t i = 0; layer.kind == "dense" && i < layer.repeat; ++i) {
        layers.push_back({fmt::format("dense.{}", layers.size()), layer.columns, activation_named(layer.rectifier)});
      }
    }
    return layers;
  }

  static std::vector<ResidualShape> residual_blocks(const ModelConfig& config) {
    std::vector<ResidualShape> blocks;
    for (const LayerConfig& layer : config.layer) {
      if (layer.kind == "residual") blocks.push_back(residual_shape(layer, layer.stride));
    }
    return blocks;
  }

  static ResidualShape residual_shape(const LayerConfig& layer, std::int64_t stride) {
    ResidualShape shape;
    shape.out = layer.channels;
    shape.inner = layer.inner;
    shape.wide = layer.wide;
    shape.stride = stride;
    shape.activation = shape.inner_activation = activation_named(layer.rectifier);
    shape.epsilon = layer.epsilon;
    return shape;
  }

  void add(const LayerConfig& layer) {
    for (std::int64_t i = 0; i < layer.repeat; ++i) {
      if (layer.kind == "convolution" || layer.kind == "residual")
        model_.layers.push_back(map_layer(layer, i == 0, i + 1 == layer.repeat));
    }
  }

  /// One of `repeat` layers: only the first has the stride, only the last the pooling.
  Layer map_layer(const LayerConfig& layer, bool is_first, bool is_last) {
    const std::size_t number = model_.layers.size();
    const bool is_block = layer.kind == "residual";
    LayerGraph g(fmt::format("{}.{}", is_block ? "block" : "convolution", number), fmt::format("layers.{}.", number));
    ValueIndex x = number == 0 ? g.features(image_.channels, map_.side * map_.side) : g.input(map_.port());
    const std::int64_t stride = is_first ? layer.stride : 1;
    x = is_block ? residual_block(g, x, map_, residual_shape(layer, stride), columns_)
                 : convolution(g, x, layer, stride);
    if (is_last && layer.pool != "none") x = pool(g, x, layer);
    g.output(x);
    return g.finish(compute_bytes_);
  }

  ValueIndex convolution(LayerGraph& g, ValueIndex x, const LayerConfig& layer, std::int64_t stride) {
    const Window window = map_.window(layer.kernel, stride, layer.padded_by());
    if (layer.batch_norm) {
      x = normalised(g, "", x, map_, {.window = window, .out = layer.channels}, layer.epsilon);
    } else {
      x = g.convolution("convolution", x, {.window = window, .out = layer.channels, .bias = true});
      map_ = {window.out_height(), layer.channels};
    }
    return layer.rectifier == "none" ? x : g.activate(x, activation_named(layer.rectifier));
  }

  ValueIndex pool(LayerGraph& g, ValueIndex x, const LayerConfig& layer) {
    const Window window = map_.window(layer.pool_side(map_.side), layer.pool_step(map_.side), layer.pool_padding);
    map_.side = window.out_height();
    return g.pool(x, layer.pool == "max" ? PoolKind::max : PoolKind::average, window);
  }

  const ModelConfig& config_;
  double compute_bytes_;
  ImageShape image_;
  FeatureMap map_;  ///< that the next layer reads
  std::vector<DenseLayer> dense_ = dense_layers(config_);
  std::int64_t columns_;  ///< length of the axis that dense layers and residual blocks are divided along
  Model model_;
};

}  // namespace

Model build_own_images(const ModelConfig& model, const TrainingConfig& training) {
  return OwnImages(model, training).build();
}

}  // namespace pptrain
