#include <fmt/format.h>

#include "model/own_network.hpp"

namespace pptrain {
namespace {

/// A generator of images (Jiang et al., "TransGAN: two pure transformers can make one strong GAN", 2021): a few numbers
/// become a small map, blocks attend within it, and it is made larger until its pixels are those of an image.
///
/// Each layer leaves the pixels in the order that the next one wants, so that equal blocks are equal layers.
class OwnDrawing {
 public:
  OwnDrawing(const ModelConfig& config, const TrainingConfig& training)
      : OwnDrawing(config, training, all_blocks(config)) {}

  Model build() {
    const LayerConfig &first = config_.layer.front(), &last = config_.layer.back();
    model_.name = config_.name;
    model_.axes = blocks_.axes();
    for (std::size_t i = 0; i < config_.layer.size(); ++i) add(i);
    model_.sample = {.rows = 1, .features = first.inputs, .drawing = {last.colours, side_, side_}};
    return std::move(model_);
  }

 private:
  OwnDrawing(const ModelConfig& config, const TrainingConfig& training, const std::vector<BlockShape>& blocks)
      : config_(config),
        side_(config.layer.front().image_size),
        columns_(config.layer.front().columns),
        blocks_(blocks) {
    stream_.compute_bytes = element_bytes(training.precision);
    stream_.stream_deviation = stream_deviation(stream_.deviation, static_cast<std::int64_t>(blocks.size()));
  }

  /// The blocks of the chain, with the columns that they find.
  static std::vector<BlockShape> all_blocks(const ModelConfig& config) {
    std::vector<BlockShape> blocks;
    std::int64_t columns = config.layer.front().columns;
    for (const LayerConfig& layer : config.layer) {
      if (layer.kind == "enlarge" && layer.method == "shuffle") columns /= 4;
      if (layer.kind != "block") continue;
      blocks.insert(blocks.end(), static_cast<std::size_t>(layer.repeat), own_block(layer, columns));
    }
    return blocks;
  }

  void add(std::size_t i) {
    const LayerConfig& layer = config_.layer[i];
    if (layer.kind == "block") return add_blocks(i);
    if (layer.kind == "pixels") return model_.layers.push_back(pixels(layer));
    const std::size_t number = model_.layers.size();
    LayerGraph g(layer.kind == "latent" ? "latent" : fmt::format("enlarge.{}", number),
                 fmt::format("layers.{}.", number), stream_.deviation);
    ValueIndex x = layer.kind == "latent" ? latent(g, layer) : enlarged(g, layer);
    if (layer.positions) x = g.places("positions", x);
    g.output(ordered_for(g, x, i + 1));
    model_.layers.push_back(g.finish(stream_.compute_bytes));
  }

  void add_blocks(std::size_t i) {
    const LayerConfig& layer = config_.layer[i];
    BlockShape block = own_block(layer, columns_);
    block.causal = false;
    block.window = 0;
    block.span = layer.window < side_ ? layer.window * layer.window : 0;
    stream_.rows = side_ * side_;
    stream_.columns = columns_;
    for (std::int64_t k = 0; k < layer.repeat; ++k) {
      const auto number = static_cast<std::int64_t>(model_.layers.size());
      const bool is_last = k + 1 == layer.repeat;
      blocks_.add(model_, block, stream_, number, fmt::format("layers.{}.", number),
                  [&](LayerGraph& g, ValueIndex x) { return is_last ? ordered_for(g, x, i + 1) : x; });
    }
  }

  ValueIndex latent(LayerGraph& g, const LayerConfig& layer) const {
    const ValueIndex x = g.features(layer.inputs, 1);
    const ValueIndex row = g.linear("map", x, {.out = side_ * side_ * columns_, .bias = true, .wide = true});
    return g.reshape(row, side_ * side_);
  }

  ValueIndex enlarged(LayerGraph& g, const LayerConfig& layer) {
    const EnlargeKind kind = layer.method == "shuffle" ? EnlargeKind::shuffle : EnlargeKind::bicubic;
    const ValueIndex x = g.enlarge(g.input({side_ * side_, columns_}), kind, {side_, side_});
    side_ *= 2;
    columns_ = g.value(x).columns;
    return x;
  }

  Layer pixels(const LayerConfig& layer) const {
    LayerGraph g("pixels", "", stream_.deviation);
    const ValueIndex x = g.input({side_ * side_, columns_});
    g.square_loss(g.linear("pixels", x, {.out = layer.colours, .bias = true, .wide = true}));
    return g.finish(stream_.compute_bytes);
  }

  /// The pixels in the order that layer `next` of the configuration wants: blocks with a window square by square, those
  /// without in any, others row by row of the map.
  ValueIndex ordered_for(LayerGraph& g, ValueIndex x, std::size_t next) {
    const LayerConfig& layer = config_.layer[next];
    if (layer.kind == "block" && layer.window == 0) return x;
    const std::int64_t wanted = layer.kind == "block" && layer.window < side_ ? layer.window : 0;
    if (wanted == tile_) return x;
    if (tile_ > 0) x = g.tiles(x, {side_, side_}, tile_, true);
    if (wanted > 0) x = g.tiles(x, {side_, side_}, wanted, false);
    tile_ = wanted;
    return x;
  }

  const ModelConfig& config_;
  std::int64_t side_;      ///< of the map that the next layer reads
  std::int64_t columns_;   ///< likewise
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
