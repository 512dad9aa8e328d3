#include "config/check_chain.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// One layer with what a message says of it.
class ChainLayer {
 public:
  ChainLayer(const Config& config, std::size_t index)
      : config_(config), layer_(config.model.layer[index]), place_(fmt::format("model.layer[{}]", index)) {}

  /// The layer as one of a kind that it has to be.
  template <class Wanted>
  const Wanted& as(const std::string& reason) const {
    if (const Wanted* layer = layer_.as<Wanted>()) return *layer;
    refuse("kind", fmt::format("{} is of the kind \"{}\", not \"{}\"", place_, layer_.name(), Wanted::name), reason,
           "a chain is an embedding, blocks, and an output; or images, convolutions and residual blocks, dense layers, "
           "and classes; or a latent layer, blocks and enlarging layers, and pixels");
  }

  /// Follows the side of the feature map through convolutions or residual blocks, or refuses what does not fit.
  void follow_map(const ConvolutionConfig& layer, std::int64_t& side) const {
    follow_convolutions(side, layer.kernel, layer.padded_by(), layer.stride, layer.repeat);
    follow_pool(side, layer.pool);
  }
  void follow_map(const ResidualConfig& layer, std::int64_t& side) const {
    if (layer.wide > 0 && layer.inner == 0) {
      refuse("wide", fmt::format("wide = {} without inner", layer.wide), "it is the width within a bottleneck",
             "give inner too, or remove the key");
    }
    follow_convolutions(side, 3, 1, layer.stride, layer.repeat);
    follow_pool(side, layer.pool);
  }

  /// Refuses feature maps so large that numbers of weights behind them would overflow.
  void check_map(std::int64_t side, std::int64_t channels) const {
    constexpr std::int64_t most = std::int64_t{1} << 34;
    if (side * side <= most / channels) return;
    const std::string key = layer_.is<ImagesConfig>() || layer_.is<LatentConfig>() ? "image_size"
                            : layer_.is<EnlargeConfig>()                           ? "kind"
                                                                                   : "channels";
    refuse(key, fmt::format("a map of {0} x {0} pixels and {1} channels", side, channels),
           fmt::format("one of at most {} numbers can be planned", most), "use smaller images or fewer channels");
  }

  /// A block over the pixels of a map.
  void check_drawing_block(const BlockConfig& block, std::int64_t side, std::int64_t hidden) const {
    check_block(block, hidden);
    if (block.window > 0 && side % block.window != 0) {
      refuse("window", fmt::format("window = {} does not divide the side of {} pixels", block.window, side),
             "a map is divided into squares of equal size", "use a divisor of the side, or 0");
    }
    if (block.rotary_theta > 0.0) {
      refuse("rotary_theta", "rotary_theta in a block that draws images",
             "pixels have places in two dimensions, not in a row", "remove the key");
    }
    if (block.experts.number > 0) {
      refuse("experts", "experts in a block that draws images", "its pixels all go to one part", "remove the key");
    }
  }

  /// Follows side and columns of a map that is enlarged.
  void follow_enlarging(const EnlargeConfig& layer, std::int64_t& side, std::int64_t& columns) const {
    side *= 2;
    if (layer.method != EnlargeKind::shuffle) return;
    if (columns % 4 != 0) {
      refuse("method", fmt::format("method = \"shuffle\" where pixels have {} numbers", columns),
             "a quarter of them goes to each of four pixels", "use columns that 4 divides at each such layer");
    }
    columns /= 4;
  }

  void check_block(const BlockConfig& block, std::int64_t hidden) const {
    if (block.head_size == 0 && hidden % block.heads != 0) {
      refuse("heads", fmt::format("heads = {} does not divide columns = {}", block.heads, hidden),
             "every head gets equally many columns", "use other heads, or give head_size");
    }
    if (block.heads % block.num_key_heads() != 0) {
      refuse("key_heads", fmt::format("key_heads = {} does not divide heads = {}", block.key_heads, block.heads),
             "every key head serves equally many query heads", "use a divisor of heads");
    }
    const std::int64_t rotated = block.rotated_columns(hidden);
    if (block.rotary_theta > 0.0 && (rotated == 0 || rotated % 2 != 0)) {
      refuse("rotary_share", fmt::format("{} of {} columns of a head turn", rotated, block.head_columns(hidden)),
             "rotary positions turn pairs of columns", "use another head_size or rotary_share");
    }
    check_experts(block);
  }

 private:
  using Named = std::pair<const char*, std::int64_t>;

  void follow_convolutions(std::int64_t& side, std::int64_t kernel, std::int64_t padding, std::int64_t stride,
                           std::int64_t repeat) const {
    for (std::int64_t i = 0; i < repeat; ++i) {
      follow_window(side, "the convolution", {"kernel", kernel}, {"padding", padding}, i == 0 ? stride : 1);
      if (2 * padding + 1 == kernel && (i > 0 || stride == 1)) break;  // the others leave it as it is
    }
  }

  void follow_pool(std::int64_t& side, const PoolConfig& pool) const {
    if (!pool.kind) return;
    if (pool.kind == PoolKind::average && pool.padding > 0) {
      refuse("pool_padding", fmt::format("pool_padding = {} of an average", pool.padding),
             "pixels that are not there have no mean", "leave it out, or use pool = \"max\"");
    }
    follow_window(side, "the pooling", {"pool_size", pool.side(side)}, {"pool_padding", pool.padding}, pool.step(side));
  }

  void follow_window(std::int64_t& side, const char* what, Named size, Named padding, std::int64_t stride) const {
    if (padding.second >= size.second) {
      refuse(padding.first, fmt::format("{} = {} with {} = {}", padding.first, padding.second, size.first, size.second),
             "a window of padding alone sees nothing", "use less padding");
    }
    if (side + 2 * padding.second < size.second) {
      refuse(size.first, fmt::format("{} has nothing left of the image to work on", what),
             fmt::format("a feature map of {0} x {0} pixels comes to it, and it needs {1} x {1}", side,
                         size.second - 2 * padding.second),
             "use larger images, or a network with fewer steps down");
    }
    side = (side + 2 * padding.second - size.second) / stride + 1;
  }

  void check_experts(const BlockConfig& block) const {
    const ExpertsConfig& experts = block.experts;
    if (experts.number == 0) return check_no_experts(experts);
    if (experts.per_token > experts.number) {
      refuse("experts_per_token",
             fmt::format("experts_per_token = {} with experts = {}", experts.per_token, experts.number),
             "a position goes to several experts, each another one", "correct one of the two numbers");
    }
    if (block.repeat % experts.every != 0) {
      refuse("experts_every", fmt::format("experts_every = {} of repeat = {}", experts.every, block.repeat),
             "blocks with experts come at equal distances", "use a divisor of repeat");
    }
    const std::string key = block.parallel ? "parallel" : "feed_forward_bias";
    if (!block.parallel && !block.feed_forward_bias) return;
    refuse(
        key, fmt::format("{} = true with experts", key),
        block.parallel ? "a part with experts comes behind attention, as a layer of its own" : "experts have no biases",
        "remove the key");
  }

  /// A written configuration has all keys, so that only other values than the defaults ask for something.
  void check_no_experts(const ExpertsConfig& experts) const {
    const ExpertsConfig none;
    const std::string key = experts.per_token != none.per_token     ? "experts_per_token"
                            : experts.every != none.every           ? "experts_every"
                            : experts.sum_to_one != none.sum_to_one ? "experts_sum_to_one"
                            : experts.capacity != none.capacity     ? "expert_capacity"
                            : experts.shared != none.shared         ? "shared_expert"
                                                                    : "";
    if (key.empty()) return;
    refuse(key, key + " without experts", "the block has one feed-forward part", "add experts, or remove the key");
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& problem, const std::string& reason,
                           const std::string& suggestion) const {
    const std::string full = place_ + "." + key;
    throw_bad_input({config_.where(config_.places.contains(full) ? full : place_), problem, reason, suggestion});
  }

  const Config& config_;
  const LayerConfig& layer_;
  std::string place_;
};

/// Feature maps, then dense layers, between images and classes.
void check_images(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  const auto& images = ChainLayer(config, 0).as<ImagesConfig>("pixels are read first");
  std::int64_t side = images.image_size;
  ChainLayer(config, 0).check_map(side, images.channels);
  ChainLayer(config, 1).as<ConvolutionConfig>("pixels go to a convolution first");
  bool dense = false;
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    dense = dense || layers[i].is<DenseConfig>();
    if (dense) {
      layer.as<DenseConfig>("what follows a dense layer is another one, or the classes");
    } else if (const auto* block = layers[i].as<ResidualConfig>()) {
      layer.follow_map(*block, side);
      layer.check_map(side, block->channels);
    } else {
      const auto& convolution = layer.as<ConvolutionConfig>("a feature map goes to a convolution or a residual block");
      layer.follow_map(convolution, side);
      layer.check_map(side, convolution.channels);
    }
  }
  ChainLayer(config, layers.size() - 1).as<ClassesConfig>("the last layer computes the loss");
}

/// Blocks and enlarging layers between latent numbers and pixels.
void check_drawing(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  const auto& latent = ChainLayer(config, 0).as<LatentConfig>("an image is drawn from numbers");
  std::int64_t side = latent.image_size, columns = latent.columns;
  ChainLayer(config, 0).check_map(side, columns);
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    if (const auto* enlarge = layers[i].as<EnlargeConfig>()) {
      layer.follow_enlarging(*enlarge, side, columns);
      layer.check_map(side, columns);
    } else {
      layer.check_drawing_block(layer.as<BlockConfig>("a map goes to blocks, or is enlarged"), side, columns);
    }
  }
  const ChainLayer last(config, layers.size() - 1);
  last.check_map(side, last.as<PixelsConfig>("the last layer computes the loss").channels);
}

void check_texts(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  const std::int64_t columns = ChainLayer(config, 0).as<EmbeddingConfig>("tokens become vectors first").columns;
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    layer.check_block(layer.as<BlockConfig>("what stands between embedding and output is a block"), columns);
  }
  ChainLayer(config, layers.size() - 1).as<OutputConfig>("the last layer computes the loss");
}

}  // namespace

void check_chain(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  if (layers.size() < 3) {
    throw_bad_input({config.where("model.layer[0]"), fmt::format("a chain of {} [[model.layer]]", layers.size()),
                     "it takes an embedding, a block and an output, or images, a convolution and classes, or a latent "
                     "layer, a block and pixels, at least",
                     "write the others down too"});
  }
  if (layers.front().is<ImagesConfig>()) return check_images(config);
  if (layers.front().is<LatentConfig>()) return check_drawing(config);
  check_texts(config);
}

}  // namespace pptrain
