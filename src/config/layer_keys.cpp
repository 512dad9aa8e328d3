#include "config/layer_keys.hpp"

#include <algorithm>

#include "config/ranges.hpp"

namespace pptrain {
namespace {

const NameTable<NormKind> norms = {{NormKind::layer, "layer"}, {NormKind::rms, "rms"}};
const NameTable<EnlargeKind> methods = {{EnlargeKind::bicubic, "bicubic"}, {EnlargeKind::shuffle, "shuffle"}};
const NameTable<std::optional<PoolKind>> pools = {
    {std::nullopt, "none"}, {PoolKind::max, "max"}, {PoolKind::average, "average"}};
/// Of blocks, whose default comes first.
const NameTable<Activation> activations = {{Activation::gelu_tanh, "gelu_tanh"},
                                           {Activation::gelu, "gelu"},
                                           {Activation::silu, "silu"},
                                           {Activation::relu, "relu"}};
/// Of layers of images likewise.
const NameTable<Activation> rectifiers = {{Activation::relu, "relu"},
                                          {Activation::gelu_tanh, "gelu_tanh"},
                                          {Activation::gelu, "gelu"},
                                          {Activation::silu, "silu"}};
const NameTable<std::optional<Activation>> optional_rectifiers = {{Activation::relu, "relu"},
                                                                  {Activation::gelu_tanh, "gelu_tanh"},
                                                                  {Activation::gelu, "gelu"},
                                                                  {Activation::silu, "silu"},
                                                                  {std::nullopt, "none"}};

void visit_norm(KeyVisitor& v, NormConfig& norm, const std::string& place) {
  visit_kind(v, {"norm", "The normalisation " + place + "."}, norm.kind, norms);
  v.number({"epsilon", "What is added to the variance, or the mean square, under its root."}, norm.epsilon,
           positive("it keeps a division finite"));
}

void visit_attention(KeyVisitor& v, BlockConfig& layer) {
  v.integer({"heads", "Attention heads."}, layer.heads, between(1, 65536));
  v.integer({"key_heads", "Heads of keys and values, which divide `heads`; 0: as many as heads."}, layer.key_heads,
            between(0, 65536));
  v.integer({"head_size", "Columns of a head; 0: the embedding's columns divided by heads."}, layer.head_size,
            between(0, 1048576));
  v.number({"rotary_theta", "Base of rotary positions, by which queries and keys turn, often 10000; 0: they do not."},
           layer.rotary_theta, not_negative());
  v.number({"rotary_share", "Part of a head's columns that turns: pairs of columns."}, layer.rotary_share,
           {0.0, 1.0, true, false, "it is a part"});
  v.integer(
      {"window",
       "Latest positions that each sees, its own included; 0: all earlier ones. Where images are drawn: pixels of "
       "a side of the squares within which pixels see each other; 0: all see all."},
      layer.window, at_least(0));
  v.flag({"query_bias", "Whether queries, keys and values have a bias."}, layer.query_bias);
  v.flag({"output_bias", "Whether the product behind attention has one."}, layer.output_bias);
  v.flag({"head_norms", "Whether queries and keys are normalised head by head before they turn."}, layer.head_norms);
}

void visit_experts(KeyVisitor& v, ExpertsConfig& experts) {
  v.integer(
      {"experts",
       "Feed-forward parts of which each position goes to some, as a router chooses; 0: one part for all positions."},
      experts.number, between(0, 65536));
  v.integer({"experts_every",
             "One in so many of `repeat` blocks has the experts, the last of them; the others have one part."},
            experts.every, between(1, 65536));
  v.integer({"experts_per_token", "To how many of them a position goes."}, experts.per_token, between(1, 65536));
  v.flag({"experts_sum_to_one", "Whether the weights of those are made to sum to 1."}, experts.sum_to_one);
  v.number(
      {"expert_capacity",
       "Positions of a sample that an expert takes at most, where 1 is an even share of them, rounded up; the others "
       "go on without it. 0: all that choose it."},
      experts.capacity, not_negative());
  v.integer({"shared_expert", "Columns of a part that all positions go to as well, behind a gate; 0: there is none."},
            experts.shared, between(0, 4194304));
}

void visit(KeyVisitor& v, BlockConfig& layer) {
  v.integer({"repeat", "How many such blocks follow one another."}, layer.repeat, between(1, 65536));
  visit_attention(v, layer);
  v.integer({"feed_forward", "Inner columns of the feed-forward part; 0: four times the embedding's columns."},
            layer.feed_forward, between(0, 4194304));
  visit_kind(v,
             {"activation", "Of the feed-forward part; \"gelu_tanh\" is GPT-2's form of GELU, \"gelu\" the exact one."},
             layer.activation, activations);
  v.flag({"gated", "Whether the activated product is multiplied by a second one, as in SwiGLU."}, layer.gated);
  v.flag({"feed_forward_bias", "Whether products of the feed-forward part have a bias."}, layer.feed_forward_bias);
  visit_experts(v, layer.experts);
  visit_norm(v, layer.norm, "before attention and before the feed-forward part");
  v.flag({"parallel", "Whether both parts read the block's input and are added to it together, as in GPT-NeoX."},
         layer.parallel);
}

const char* const rectifier_text = "What its sums go through.";

void visit_pool(KeyVisitor& v, PoolConfig& pool) {
  visit_kind(v,
             {"pool", "What the pixels under a window become, behind the last of `repeat`: the largest or the mean."},
             pool.kind, pools);
  v.integer({"pool_size", "Pixels of the window's side; 0: the whole map."}, pool.size, between(0, 16384));
  v.integer({"pool_stride", "By how many pixels it moves; 0: by its size."}, pool.stride, between(0, 16384));
  v.integer({"pool_padding", "Pixels around the map, which are never the largest."}, pool.padding, between(0, 16384));
}

void visit(KeyVisitor& v, ConvolutionConfig& layer) {
  v.integer({"repeat", "How many such layers follow one another."}, layer.repeat, between(1, 65536));
  v.integer({"channels", "Channels of the result."}, layer.channels, between(1, 1048576));
  v.integer({"kernel", "Pixels of the window's side."}, layer.kernel, between(1, 1024));
  v.integer({"stride", "By how many pixels it moves, in the first of `repeat`; by one in the others."}, layer.stride,
            between(1, 16384));
  v.integer_or_auto({"padding", "Zeros around the map; \"auto\": half the kernel, so that an odd one leaves the size."},
                    layer.padding, between(0, 16384));
  v.flag({"batch_norm", "Whether the sums are normalised over the micro-batch, in place of a bias."}, layer.batch_norm);
  v.number({"epsilon", "What is added to the variance under its root."}, layer.epsilon,
           positive("it keeps a division finite"));
  visit_kind(v, {"activation", rectifier_text}, layer.activation, optional_rectifiers);
  visit_pool(v, layer.pool);
}

void visit(KeyVisitor& v, ResidualConfig& layer) {
  v.integer({"repeat", "How many such blocks follow one another."}, layer.repeat, between(1, 65536));
  v.integer({"channels", "Channels of the result."}, layer.channels, between(1, 1048576));
  v.integer(
      {"inner",
       "Channels within a bottleneck: convolutions of 1 x 1 to so many, of 3 x 3 among them, and of 1 x 1 back; 0: "
       "two convolutions of 3 x 3."},
      layer.inner, between(0, 1048576));
  v.integer({"wide", "Channels behind a bottleneck's convolution of 3 x 3; 0: as in front of it."}, layer.wide,
            between(0, 1048576));
  v.integer({"stride", "Of the first block's first convolution of 3 x 3 and of its projection."}, layer.stride,
            between(1, 16384));
  v.number({"epsilon", "What batch norms add to the variance under its root."}, layer.epsilon,
           positive("it keeps a division finite"));
  visit_kind(v, {"activation", rectifier_text}, layer.activation, rectifiers);
  visit_pool(v, layer.pool);
}

void visit_pixel_positions(KeyVisitor& v, bool& positions) {
  v.flag({"positions", "Whether each pixel has a row of a table, which is added to it."}, positions);
}

void visit_image_channels(KeyVisitor& v, std::int64_t& channels) {
  v.integer({"channels", "Channels of an image: 3 for colours, 1 for grey."}, channels, between(1, 65536));
}

void visit(KeyVisitor& v, ImagesConfig& layer) {
  v.integer({"image_size", "Pixels of an image's side."}, layer.image_size, between(1, 16384));
  visit_image_channels(v, layer.channels);
}

void visit(KeyVisitor& v, DenseConfig& layer) {
  v.integer({"repeat", "How many such layers follow one another."}, layer.repeat, between(1, 65536));
  v.integer({"columns", "Numbers that it gives for each image."}, layer.columns, between(1, 1048576));
  visit_kind(v, {"activation", rectifier_text}, layer.activation, rectifiers);
}

void visit(KeyVisitor& v, ClassesConfig& layer) {
  v.integer({"classes", "Classes, of which each image has one."}, layer.classes, between(1, 100000000));
}

void visit(KeyVisitor& v, LatentConfig& layer) {
  v.integer({"inputs", "Numbers of a sample, from which an image is drawn."}, layer.inputs, between(1, 1048576));
  v.integer({"image_size", "Pixels of a side of the map that they become."}, layer.image_size, between(1, 16384));
  v.integer({"columns", "Numbers of each of its pixels."}, layer.columns, between(1, 1048576));
  visit_pixel_positions(v, layer.positions);
}

void visit(KeyVisitor& v, EnlargeConfig& layer) {
  visit_kind(v,
             {"method",
              "How a map gets twice the side: \"bicubic\" between pixels, their numbers as many as before; \"shuffle\" "
              "makes of the numbers of a pixel those of four, each with a quarter of them."},
             layer.method, methods);
  visit_pixel_positions(v, layer.positions);
}

void visit(KeyVisitor& v, PixelsConfig& layer) { visit_image_channels(v, layer.channels); }

void visit(KeyVisitor& v, OutputConfig& layer) {
  visit_norm(v, layer.norm, "before the product with the vocabulary");
  v.flag({"tied", "Whether that product shares the weights of the token embedding."}, layer.tied);
}

void visit(KeyVisitor& v, EmbeddingConfig& layer) {
  v.integer({"columns", "Width of what goes from layer to layer."}, layer.columns, between(1, 1048576));
  v.flag({"positions", "Whether each place of a sample has a row of a second table, which is added to the token's."},
         layer.positions);
}

}  // namespace

void visit_layer(KeyVisitor& v, LayerConfig& layer) {
  const std::vector<LayerConfig> all = layers_of_all_kinds();
  std::vector<std::string> names;
  for (const LayerConfig& one : all) names.push_back(one.name());
  std::string name = layer.name();
  v.name({"kind",
          "What the layer is. Of texts: an embedding, blocks, the output. Of images: images, convolutions and residual "
          "blocks, dense layers, classes. To draw images: latent numbers, blocks and what enlarges maps, pixels."},
         name, names);
  const auto named = std::find(names.begin(), names.end(), name);
  if (name != layer.name() && named != names.end()) layer = all[static_cast<std::size_t>(named - names.begin())];
  std::visit([&v](auto& one) { visit(v, one); }, layer.kind);
}

}  // namespace pptrain
