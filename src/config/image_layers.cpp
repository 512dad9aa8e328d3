#include "config/image_layers.hpp"

#include "config/chain_layer.hpp"
#include "config/check_chain.hpp"
#include "config/keys.hpp"
#include "config/ranges.hpp"

namespace pptrain {
namespace {

const NameTable<EnlargeKind> methods = {{EnlargeKind::bicubic, "bicubic"},
                                        {EnlargeKind::shuffle, "shuffle"}};
const NameTable<std::optional<PoolKind>> pools = {
    {std::nullopt, "none"}, {PoolKind::max, "max"}, {PoolKind::average, "average"}};
const NameTable<Activation> rectifiers = {{Activation::relu, "relu"},
                                          {Activation::gelu_tanh, "gelu_tanh"},
                                          {Activation::gelu, "gelu"},
                                          {Activation::silu, "silu"}};
const NameTable<std::optional<Activation>> optional_rectifiers = or_nothing(rectifiers, "none");

const char* const rectifier_text = "What its sums go through.";

void visit_pool(KeyVisitor& v, PoolConfig& pool) {
  visit_kind(v,
             {"pool",
              "What the pixels under a window become, behind the last of `repeat`: the largest or "
              "the mean."},
             pool.kind, pools);
  v.integer({"pool_size", "Pixels of the window's side; 0: the whole map."}, pool.size,
            between(0, 16384));
  v.integer({"pool_stride", "By how many pixels it moves; 0: by its size."}, pool.stride,
            between(0, 16384));
  v.integer({"pool_padding", "Pixels around the map, which are never the largest."}, pool.padding,
            between(0, 16384));
}

void visit_pixel_positions(KeyVisitor& v, bool& positions) {
  v.flag({"positions", "Whether each pixel has a row of a table, which is added to it."},
         positions);
}

void visit_image_channels(KeyVisitor& v, std::int64_t& channels) {
  v.integer({"channels", "Channels of an image: 3 for colours, 1 for grey."}, channels,
            between(1, 65536));
}

using NamedPixels = std::pair<const char*, std::int64_t>;

void follow_window(const ChainLayer& chain, std::int64_t& side, const char* what, NamedPixels size,
                   NamedPixels padding, std::int64_t stride) {
  if (padding.second >= size.second) {
    chain.refuse(
        padding.first,
        fmt::format("{} = {} with {} = {}", padding.first, padding.second, size.first, size.second),
        "a window of padding alone sees nothing", "use less padding");
  }
  if (side + 2 * padding.second < size.second) {
    chain.refuse(
        size.first, fmt::format("{} has nothing left of the image to work on", what),
        fmt::format("a feature map of {0} x {0} pixels comes to it, and it needs {1} x {1}", side,
                    size.second - 2 * padding.second),
        "use larger images, or a network with fewer steps down");
  }
  side = (side + 2 * padding.second - size.second) / stride + 1;
}

void follow_convolutions(const ChainLayer& chain, std::int64_t& side, std::int64_t kernel,
                         std::int64_t padding, std::int64_t stride, std::int64_t repeat) {
  for (std::int64_t i = 0; i < repeat; ++i) {
    follow_window(chain, side, "the convolution", {"kernel", kernel}, {"padding", padding},
                  i == 0 ? stride : 1);
    if (2 * padding + 1 == kernel && (i > 0 || stride == 1)) break;  // the others leave it as it is
  }
}

void follow_pool(const ChainLayer& chain, std::int64_t& side, const PoolConfig& pool) {
  if (!pool.kind) return;
  if (pool.kind == PoolKind::average && pool.padding > 0) {
    chain.refuse("pool_padding", fmt::format("pool_padding = {} of an average", pool.padding),
                 "pixels that are not there have no mean", "leave it out, or use pool = \"max\"");
  }
  follow_window(chain, side, "the pooling", {"pool_size", pool.side(side)},
                {"pool_padding", pool.padding}, pool.step(side));
}

/// Follows the side of the feature map through convolutions or residual blocks, or refuses what
/// does not fit.
void follow_map(const ChainLayer& chain, const ConvolutionConfig& layer, std::int64_t& side) {
  follow_convolutions(chain, side, layer.kernel, layer.padded_by(), layer.stride, layer.repeat);
  follow_pool(chain, side, layer.pool);
}
void follow_map(const ChainLayer& chain, const ResidualConfig& layer, std::int64_t& side) {
  if (layer.wide > 0 && layer.inner == 0) {
    chain.refuse("wide", fmt::format("wide = {} without inner", layer.wide),
                 "it is the width within a bottleneck", "give inner too, or remove the key");
  }
  follow_convolutions(chain, side, 3, 1, layer.stride, layer.repeat);
  follow_pool(chain, side, layer.pool);
}

/// Refuses feature maps so large that numbers of weights behind them would overflow.
void check_map(const ChainLayer& chain, std::int64_t side, std::int64_t channels) {
  constexpr std::int64_t most = std::int64_t{1} << 34;
  if (side * side <= most / channels) return;
  const std::string key = chain.is<ImagesConfig>() || chain.is<LatentConfig>() ? "image_size"
                          : chain.is<EnlargeConfig>()                          ? "kind"
                                                                               : "channels";
  chain.refuse(key, fmt::format("a map of {0} x {0} pixels and {1} channels", side, channels),
               fmt::format("one of at most {} numbers can be planned", most),
               "use smaller images or fewer channels");
}

/// A block over the pixels of a map.
void check_drawing_block(const ChainLayer& chain, const BlockConfig& block, std::int64_t side,
                         std::int64_t hidden) {
  check_block(chain, block, hidden);
  if (block.window > 0 && side % block.window != 0) {
    chain.refuse(
        "window",
        fmt::format("window = {} does not divide the side of {} pixels", block.window, side),
        "a map is divided into squares of equal size", "use a divisor of the side, or 0");
  }
  if (block.rotary_theta > 0.0) {
    chain.refuse("rotary_theta", "rotary_theta in a block that draws images",
                 "pixels have places in two dimensions, not in a row", "remove the key");
  }
  if (block.experts.number > 0) {
    chain.refuse("experts", "experts in a block that draws images", "its pixels all go to one part",
                 "remove the key");
  }
}

/// Follows side and columns of a map that is enlarged.
void follow_enlarging(const ChainLayer& chain, const EnlargeConfig& layer, std::int64_t& side,
                      std::int64_t& columns) {
  side *= 2;
  if (layer.method != EnlargeKind::shuffle) return;
  if (columns % 4 != 0) {
    chain.refuse("method",
                 fmt::format("method = \"shuffle\" where pixels have {} numbers", columns),
                 "a quarter of them goes to each of four pixels",
                 "use columns that 4 divides at each such layer");
  }
  columns /= 4;
}

}  // namespace

void visit(KeyVisitor& v, ImagesConfig& layer) {
  v.integer({"image_size", "Pixels of an image's side."}, layer.image_size, between(1, 16384));
  visit_image_channels(v, layer.channels);
}

void visit(KeyVisitor& v, ConvolutionConfig& layer) {
  v.integer({"repeat", "How many such layers follow one another."}, layer.repeat,
            between(1, 65536));
  v.integer({"channels", "Channels of the result."}, layer.channels, between(1, 1048576));
  v.integer({"kernel", "Pixels of the window's side."}, layer.kernel, between(1, 1024));
  v.integer(
      {"stride", "By how many pixels it moves, in the first of `repeat`; by one in the others."},
      layer.stride, between(1, 16384));
  v.integer_or_auto(
      {"padding",
       "Zeros around the map; \"auto\": half the kernel, so that an odd one leaves the size."},
      layer.padding, between(0, 16384));
  v.flag(
      {"batch_norm", "Whether the sums are normalised over the micro-batch, in place of a bias."},
      layer.batch_norm);
  v.number({"epsilon", "What is added to the variance under its root."}, layer.epsilon,
           positive("it keeps a division finite"));
  visit_kind(v, {"activation", rectifier_text}, layer.activation, optional_rectifiers);
  visit_pool(v, layer.pool);
}

void visit(KeyVisitor& v, ResidualConfig& layer) {
  v.integer({"repeat", "How many such blocks follow one another."}, layer.repeat,
            between(1, 65536));
  v.integer({"channels", "Channels of the result."}, layer.channels, between(1, 1048576));
  v.integer({"inner",
             "Channels within a bottleneck: convolutions of 1 x 1 to so many, of 3 x 3 among them, "
             "and of 1 x 1 back; 0: "
             "two convolutions of 3 x 3."},
            layer.inner, between(0, 1048576));
  v.integer({"wide", "Channels behind a bottleneck's convolution of 3 x 3; 0: as in front of it."},
            layer.wide, between(0, 1048576));
  v.integer({"stride", "Of the first block's first convolution of 3 x 3 and of its projection."},
            layer.stride, between(1, 16384));
  v.number({"epsilon", "What batch norms add to the variance under its root."}, layer.epsilon,
           positive("it keeps a division finite"));
  visit_kind(v, {"activation", rectifier_text}, layer.activation, rectifiers);
  visit_pool(v, layer.pool);
}

void visit(KeyVisitor& v, DenseConfig& layer) {
  v.integer({"repeat", "How many such layers follow one another."}, layer.repeat,
            between(1, 65536));
  v.integer({"columns", "Numbers that it gives for each image."}, layer.columns,
            between(1, 1048576));
  visit_kind(v, {"activation", rectifier_text}, layer.activation, rectifiers);
}

void visit(KeyVisitor& v, ClassesConfig& layer) {
  v.integer({"classes", "Classes, of which each image has one."}, layer.classes,
            between(1, 100000000));
}

void visit(KeyVisitor& v, LatentConfig& layer) {
  v.integer({"inputs", "Numbers of a sample, from which an image is drawn."}, layer.inputs,
            between(1, 1048576));
  v.integer({"image_size", "Pixels of a side of the map that they become."}, layer.image_size,
            between(1, 16384));
  v.integer({"columns", "Numbers of each of its pixels."}, layer.columns, between(1, 1048576));
  visit_pixel_positions(v, layer.positions);
}

void visit(KeyVisitor& v, EnlargeConfig& layer) {
  visit_kind(v,
             {"method",
              "How a map gets twice the side: \"bicubic\" between pixels, their numbers as many as "
              "before; \"shuffle\" "
              "makes of the numbers of a pixel those of four, each with a quarter of them."},
             layer.method, methods);
  visit_pixel_positions(v, layer.positions);
}

void visit(KeyVisitor& v, PixelsConfig& layer) { visit_image_channels(v, layer.channels); }

void check_images(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  const auto& images = ChainLayer(config, 0).as<ImagesConfig>("pixels are read first");
  std::int64_t side = images.image_size;
  check_map(ChainLayer(config, 0), side, images.channels);
  ChainLayer(config, 1).as<ConvolutionConfig>("pixels go to a convolution first");
  bool dense = false;
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    dense = dense || layers[i].is<DenseConfig>();
    if (dense) {
      layer.as<DenseConfig>("what follows a dense layer is another one, or the classes");
    } else if (const auto* block = layers[i].as<ResidualConfig>()) {
      follow_map(layer, *block, side);
      check_map(layer, side, block->channels);
    } else {
      const auto& convolution =
          layer.as<ConvolutionConfig>("a feature map goes to a convolution or a residual block");
      follow_map(layer, convolution, side);
      check_map(layer, side, convolution.channels);
    }
  }
  ChainLayer(config, layers.size() - 1).as<ClassesConfig>("the last layer computes the loss");
}

void check_drawing(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  const auto& latent = ChainLayer(config, 0).as<LatentConfig>("an image is drawn from numbers");
  std::int64_t side = latent.image_size, columns = latent.columns;
  check_map(ChainLayer(config, 0), side, columns);
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    if (const auto* enlarge = layers[i].as<EnlargeConfig>()) {
      follow_enlarging(layer, *enlarge, side, columns);
      check_map(layer, side, columns);
    } else {
      check_drawing_block(layer, layer.as<BlockConfig>("a map goes to blocks, or is enlarged"),
                          side, columns);
    }
  }
  const ChainLayer last(config, layers.size() - 1);
  check_map(last, side, last.as<PixelsConfig>("the last layer computes the loss").channels);
}

}  // namespace pptrain
