#include <fmt/format.h>

#include <variant>

#include "model/written/networks.hpp"

namespace pptrain {
namespace {

/// A generator of images (Jiang et al., "TransGAN: two pure transformers can make one strong GAN",
/// 2021): a few numbers become a small map, blocks attend within it, and it is made larger until
/// its pixels are those of an image.
///
/// Each layer leaves the pixels in the order that the next one wants, so that equal blocks are
/// equal layers.
class OwnDrawing {
 public:
  OwnDrawing(const ModelConfig& config, const TrainingConfig& training)
      : OwnDrawing(config, training, all_blocks(config)) {}

  Model build() {
    model_.name = config_.name;
    model_.axes = blocks_.axes();
    for (std::size_t i = 0; i < config_.layer.size(); ++i) {
      std::visit([&](const auto& layer) { add(layer, i); }, config_.layer[i].kind);
    }
    const std::int64_t channels = std::get<PixelsConfig>(config_.layer.back().kind).channels;
    model_.sample = {.rows = 1, .features = latent_.inputs, .drawing = {channels, side_, side_}};
    return std::move(model_);
  }

 private:
  OwnDrawing(const ModelConfig& config, const TrainingConfig& training,
             const std::vector<BlockShape>& blocks)
      : config_(config),
        latent_(std::get<LatentConfig>(config.layer.front().kind)),
        side_(latent_.image_size),
        columns_(latent_.columns),
        blocks_(blocks) {
    stream_.compute_bytes = element_bytes(training.precision);
    stream_.stream_deviation =
        stream_deviation(stream_.deviation, static_cast<std::int64_t>(blocks.size()));
  }

  /// The blocks of the chain, with the columns that they find.
  static std::vector<BlockShape> all_blocks(const ModelConfig& config) {
    std::vector<BlockShape> blocks;
    std::int64_t columns = std::get<LatentConfig>(config.layer.front().kind).columns;
    for (const LayerConfig& layer : config.layer) {
      const auto* enlarge = layer.as<EnlargeConfig>();
      if (enlarge != nullptr && enlarge->method == EnlargeKind::shuffle) columns /= 4;
      const auto* block = layer.as<BlockConfig>();
      if (block == nullptr) continue;
      blocks.insert(blocks.end(), static_cast<std::size_t>(block->repeat),
                    own_block(*block, columns));
    }
    return blocks;
  }

  /// Layers of other networks, which `check_chain` has refused.
  template <class Other>
  void add(const Other&, std::size_t) {}

  void add(const LatentConfig& layer, std::size_t i) {
    LayerGraph g("latent", "layers.0.", stream_.deviation);
    const ValueIndex numbers = g.features(layer.inputs, 1);
    const ValueIndex row =
        g.linear("map", numbers, {.out = side_ * side_ * columns_, .bias = true, .wide = true});
    finish_map(g, g.reshape(row, side_ * side_), layer.positions, i);
  }

  void add(const EnlargeConfig& layer, std::size_t i) {
    const std::size_t number = model_.layers.size();
    LayerGraph g(fmt::format("enlarge.{}", number), fmt::format("layers.{}.", number),
                 stream_.deviation);
    const ValueIndex x =
        g.enlarge(g.input({side_ * side_, columns_}), layer.method, {side_, side_});
    side_ *= 2;
    columns_ = g.value(x).columns;
    finish_map(g, x, layer.positions, i);
  }

  /// Layer `i` of the configuration gives the map `x`.
  void finish_map(LayerGraph& g, ValueIndex x, bool positions, std::size_t i) {
    if (positions) x = g.places("positions", x);
    g.output(ordered_for(g, x, i + 1));
    model_.layers.push_back(g.finish(stream_.compute_bytes));
  }

  void add(const BlockConfig& layer, std::size_t i) {
    BlockShape block = own_block(layer, columns_);
    block.causal = false;
    block.window = 0;
    block.span = layer.window < side_ ? layer.window * layer.window : 0;
    stream_.rows = side_ * side_;
    stream_.columns = columns_;
    for (std::int64_t k = 0; k < layer.repeat; ++k) {
      const auto number = static_cast<std::int64_t>(model_.layers.size());
      const bool is_last = k + 1 == layer.repeat;
      blocks_.add(
          model_, block, stream_, number, fmt::format("layers.{}.", number),
          [&](LayerGraph& g, ValueIndex x) { return is_last ? ordered_for(g, x, i + 1) : x; });
    }
  }

  void add(const PixelsConfig& layer, std::size_t) {
    LayerGraph g("pixels", "", stream_.deviation);
    const ValueIndex x = g.input({side_ * side_, columns_});
    g.square_loss(g.linear("pixels", x, {.out = layer.channels, .bias = true, .wide = true}));
    model_.layers.push_back(g.finish(stream_.compute_bytes));
  }

  /// The pixels in the order that layer `next` of the configuration wants: blocks with a window
  /// square by square, those without in any, others row by row of the map.
  ValueIndex ordered_for(LayerGraph& g, ValueIndex x, std::size_t next) {
    const auto* block = config_.layer[next].as<BlockConfig>();
    if (block != nullptr && block->window == 0) return x;
    const std::int64_t wanted = block != nullptr && block->window < side_ ? block->window : 0;
    if (wanted == tile_) return x;
    if (tile_ > 0) x = g.tiles(x, {side_, side_}, tile_, true);
    if (wanted > 0) x = g.tiles(x, {side_, side_}, wanted, false);
    tile_ = wanted;
    return x;
  }

  const ModelConfig& config_;
  const LatentConfig& latent_;
  std::int64_t side_;      ///< of the map that the next layer reads
  std::int64_t columns_;   ///< of the map that the next layer reads
  std::int64_t tile_ = 0;  ///< side of the squares in which its pixels are ordered; 0: row by row
  BlockWriter blocks_;
  StreamShape stream_;
  Model model_;
};

}  // namespace

Model build_own_drawing(const ModelConfig& model, const TrainingConfig& training) {
  return OwnDrawing(model, training).build();
}

}  // namespace pptrain
