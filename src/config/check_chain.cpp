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

  void check_kind(const std::string& wanted, const std::string& reason) const {
    if (layer_.kind == wanted) return;
    refuse("kind", fmt::format("{} is of the kind \"{}\", not \"{}\"", place_, layer_.kind, wanted), reason,
           "a chain is an embedding, blocks, and an output; or images, convolutions and residual blocks, dense layers, "
           "and classes; or a latent layer, blocks and enlarging layers, and pixels");
  }

  /// Follows the side of the feature map through a convolution or a residual block, or refuses what does not fit.
  void follow_map(std::int64_t& side) const {
    const bool is_block = layer_.kind == "residual";
    if (layer_.wide > 0 && layer_.inner == 0) {
      refuse("wide", fmt::format("wide = {} without inner", layer_.wide), "it is the width within a bottleneck",
             "give inner too, or remove the key");
    }
    const std::int64_t kernel = is_block ? 3 : layer_.kernel, padding = is_block ? 1 : layer_.padded_by();
    for (std::int64_t i = 0; i < layer_.repeat; ++i) {
      follow_window(side, "the convolution", {"kernel", kernel}, {"padding", padding}, i == 0 ? layer_.stride : 1);
      if (2 * padding + 1 == kernel && (i > 0 || layer_.stride == 1)) break;  // the others leave it as it is
    }
    if (layer_.pool == "none") return;
    if (layer_.pool == "average" && layer_.pool_padding > 0) {
      refuse("pool_padding", fmt::format("pool_padding = {} of an average", layer_.pool_padding),
             "pixels that are not there have no mean", "leave it out, or use pool = \"max\"");
    }
    follow_window(side, "the pooling", {"pool_size", layer_.pool_side(side)}, {"pool_padding", layer_.pool_padding},
                  layer_.pool_step(side));
  }

  /// Refuses feature maps so large that numbers of weights behind them would overflow.
  void check_map(std::int64_t side, std::int64_t channels) const {
    constexpr std::int64_t most = std::int64_t{1} << 34;
    if (side * side <= most / channels) return;
    const std::string key = layer_.reads_images() || layer_.reads_latents() ? "image_size"
                            : layer_.kind == "enlarge"                      ? "kind"
                                                                            : "channels";
    refuse(key, fmt::format("a map of {0} x {0} pixels and {1} channels", side, channels),
           fmt::format("one of at most {} numbers can be planned", most), "use smaller images or fewer channels");
  }

  /// A block over the pixels of a map.
  void check_drawing_block(std::int64_t side, std::int64_t hidden) const {
    check_block(hidden);
    if (layer_.window > 0 && side % layer_.window != 0) {
      refuse("window", fmt::format("window = {} does not divide the side of {} pixels", layer_.window, side),
             "a map is divided into squares of equal size", "use a divisor of the side, or 0");
    }
    const std::string key = layer_.rotary_theta > 0.0 ? "rotary_theta" : layer_.experts > 0 ? "experts" : "";
    if (key.empty()) return;
    refuse(key, key + " in a block that draws images",
           key == "experts" ? "its pixels all go to one part" : "pixels have places in two dimensions, not in a row",
           "remove the key");
  }

  /// Follows side and columns of a map that is enlarged.
  void follow_enlarging(std::int64_t& side, std::int64_t& columns) const {
    side *= 2;
    if (layer_.method != "shuffle") return;
    if (columns % 4 != 0) {
      refuse("method", fmt::format("method = \"shuffle\" where pixels have {} numbers", columns),
             "a quarter of them goes to each of four pixels", "use columns that 4 divides at each such layer");
    }
    columns /= 4;
  }

  void check_block(std::int64_t hidden) const {
    if (layer_.head_size == 0 && hidden % layer_.heads != 0) {
      refuse("heads", fmt::format("heads = {} does not divide columns = {}", layer_.heads, hidden),
             "every head gets equally many columns", "use other heads, or give head_size");
    }
    if (layer_.heads % layer_.num_key_heads() != 0) {
      refuse("key_heads", fmt::format("key_heads = {} does not divide heads = {}", layer_.key_heads, layer_.heads),
             "every key head serves equally many query heads", "use a divisor of heads");
    }
    const std::int64_t rotated = layer_.rotated_columns(hidden);
    if (layer_.rotary_theta > 0.0 && (rotated == 0 || rotated % 2 != 0)) {
      refuse("rotary_share", fmt::format("{} of {} columns of a head turn", rotated, layer_.head_columns(hidden)),
             "rotary positions turn pairs of columns", "use another head_size or rotary_share");
    }
    check_experts();
  }

 private:
  using Named = std::pair<const char*, std::int64_t>;

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

  void check_experts() const {
    if (layer_.experts == 0) return check_no_experts();
    if (layer_.experts_per_token > layer_.experts) {
      refuse("experts_per_token",
             fmt::format("experts_per_token = {} with experts = {}", layer_.experts_per_token, layer_.experts),
             "a position goes to several experts, each another one", "correct one of the two numbers");
    }
    if (layer_.repeat % layer_.experts_every != 0) {
      refuse("experts_every", fmt::format("experts_every = {} of repeat = {}", layer_.experts_every, layer_.repeat),
             "blocks with experts come at equal distances", "use a divisor of repeat");
    }
    const std::string key = layer_.parallel ? "parallel" : "feed_forward_bias";
    if (!layer_.parallel && !layer_.feed_forward_bias) return;
    refuse(key, fmt::format("{} = true with experts", key),
           layer_.parallel ? "a part with experts comes behind attention, as a layer of its own"
                           : "experts have no biases",
           "remove the key");
  }

  /// A written configuration has all keys, so that only other values than the defaults ask for something.
  void check_no_experts() const {
    const LayerConfig none;
    const std::string key = layer_.experts_per_token != none.experts_per_token     ? "experts_per_token"
                            : layer_.experts_every != none.experts_every           ? "experts_every"
                            : layer_.experts_sum_to_one != none.experts_sum_to_one ? "experts_sum_to_one"
                            : layer_.expert_capacity != none.expert_capacity       ? "expert_capacity"
                            : layer_.shared_expert != none.shared_expert           ? "shared_expert"
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
  std::int64_t side = layers.front().image_size;
  ChainLayer(config, 0).check_map(side, layers.front().colours);
  ChainLayer(config, 1).check_kind("convolution", "pixels go to a convolution first");
  bool dense = false;
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    const std::string& kind = layers[i].kind;
    dense = dense || kind == "dense";
    if (dense) {
      layer.check_kind("dense", "what follows a dense layer is another one, or the classes");
    } else {
      if (kind != "residual")
        layer.check_kind("convolution", "a feature map goes to a convolution or a residual block");
      layer.follow_map(side);
      layer.check_map(side, layers[i].channels);
    }
  }
  ChainLayer(config, layers.size() - 1).check_kind("classes", "the last layer computes the loss");
}

/// Blocks and enlarging layers between latent numbers and pixels.
void check_drawing(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  std::int64_t side = layers.front().image_size, columns = layers.front().columns;
  ChainLayer(config, 0).check_map(side, columns);
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    if (layers[i].kind == "enlarge") {
      layer.follow_enlarging(side, columns);
      layer.check_map(side, columns);
    } else {
      layer.check_kind("block", "a map goes to blocks, or is enlarged");
      layer.check_drawing_block(side, columns);
    }
  }
  const ChainLayer last(config, layers.size() - 1);
  last.check_kind("pixels", "the last layer computes the loss");
  last.check_map(side, layers.back().colours);
}

void check_texts(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  ChainLayer(config, 0).check_kind("embedding", "tokens become vectors first");
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    layer.check_kind("block", "what stands between embedding and output is a block");
    layer.check_block(layers.front().columns);
  }
  ChainLayer(config, layers.size() - 1).check_kind("output", "the last layer computes the loss");
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
  if (layers.front().reads_images()) return check_images(config);
  if (layers.front().reads_latents()) return check_drawing(config);
  check_texts(config);
}

}  // namespace pptrain
