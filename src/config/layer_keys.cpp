#include "config/layer_keys.hpp"

#include "config/ranges.hpp"

namespace pptrain {
namespace {

void visit_norm(KeyVisitor& v, LayerConfig& layer, const std::string& place) {
  v.name({"norm", "The normalisation " + place + "."}, layer.norm, {"layer", "rms"});
  v.number({"epsilon", "What is added to the variance, or the mean square, under its root."}, layer.epsilon,
           positive("it keeps a division finite"));
}

void visit_attention(KeyVisitor& v, LayerConfig& layer) {
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

void visit_experts(KeyVisitor& v, LayerConfig& layer) {
  v.integer(
      {"experts",
       "Feed-forward parts of which each position goes to some, as a router chooses; 0: one part for all positions."},
      layer.experts, between(0, 65536));
  v.integer({"experts_every",
             "One in so many of `repeat` blocks has the experts, the last of them; the others have one part."},
            layer.experts_every, between(1, 65536));
  v.integer({"experts_per_token", "To how many of them a position goes."}, layer.experts_per_token, between(1, 65536));
  v.flag({"experts_sum_to_one", "Whether the weights of those are made to sum to 1."}, layer.experts_sum_to_one);
  v.number(
      {"expert_capacity",
       "Positions of a sample that an expert takes at most, where 1 is an even share of them, rounded up; the others "
       "go on without it. 0: all that choose it."},
      layer.expert_capacity, not_negative());
  v.integer({"shared_expert", "Columns of a part that all positions go to as well, behind a gate; 0: there is none."},
            layer.shared_expert, between(0, 4194304));
}

void visit_block(KeyVisitor& v, LayerConfig& layer) {
  v.integer({"repeat", "How many such blocks follow one another."}, layer.repeat, between(1, 65536));
  visit_attention(v, layer);
  v.integer({"feed_forward", "Inner columns of the feed-forward part; 0: four times the embedding's columns."},
            layer.feed_forward, between(0, 4194304));
  v.name({"activation", "Of the feed-forward part; \"gelu_tanh\" is GPT-2's form of GELU, \"gelu\" the exact one."},
         layer.activation, {"gelu_tanh", "gelu", "silu", "relu"});
  v.flag({"gated", "Whether the activated product is multiplied by a second one, as in SwiGLU."}, layer.gated);
  v.flag({"feed_forward_bias", "Whether products of the feed-forward part have a bias."}, layer.feed_forward_bias);
  visit_experts(v, layer);
  visit_norm(v, layer, "before attention and before the feed-forward part");
  v.flag({"parallel", "Whether both parts read the block's input and are added to it together, as in GPT-NeoX."},
         layer.parallel);
}

void visit_rectifier(KeyVisitor& v, LayerConfig& layer, bool optional) {
  std::vector<std::string> names = {"relu", "gelu_tanh", "gelu", "silu"};
  if (optional) names.push_back("none");
  v.name({"activation", "What its sums go through."}, layer.rectifier, names);
}

void visit_pool(KeyVisitor& v, LayerConfig& layer) {
  v.name({"pool", "What the pixels under a window become, behind the last of `repeat`: the largest or the mean."},
         layer.pool, {"none", "max", "average"});
  v.integer({"pool_size", "Pixels of the window's side; 0: the whole map."}, layer.pool_size, between(0, 16384));
  v.integer({"pool_stride", "By how many pixels it moves; 0: by its size."}, layer.pool_stride, between(0, 16384));
  v.integer({"pool_padding", "Pixels around the map, which are never the largest."}, layer.pool_padding,
            between(0, 16384));
}

void visit_convolution(KeyVisitor& v, LayerConfig& layer) {
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
  visit_rectifier(v, layer, true);
  visit_pool(v, layer);
}

void visit_residual(KeyVisitor& v, LayerConfig& layer) {
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
  visit_rectifier(v, layer, false);
  visit_pool(v, layer);
}

void visit_positions(KeyVisitor& v, LayerConfig& layer) {
  v.flag({"positions", "Whether each pixel has a row of a table, which is added to it."}, layer.positions);
}

/// The kinds that draw images, beside blocks.
void visit_drawing_layer(KeyVisitor& v, LayerConfig& layer) {
  if (layer.kind == "latent") {
    v.integer({"inputs", "Numbers of a sample, from which an image is drawn."}, layer.inputs, between(1, 1048576));
    v.integer({"image_size", "Pixels of a side of the map that they become."}, layer.image_size, between(1, 16384));
    v.integer({"columns", "Numbers of each of its pixels."}, layer.columns, between(1, 1048576));
    visit_positions(v, layer);
  } else if (layer.kind == "enlarge") {
    v.name({"method",
            "How a map gets twice the side: \"bicubic\" between pixels, their numbers as many as before; \"shuffle\" "
            "makes of the numbers of a pixel those of four, each with a quarter of them."},
           layer.method, {"bicubic", "shuffle"});
    visit_positions(v, layer);
  } else {
    v.integer({"channels", "Channels of an image: 3 for colours, 1 for grey."}, layer.colours, between(1, 65536));
  }
}

void visit_image_layer(KeyVisitor& v, LayerConfig& layer) {
  if (layer.kind == "convolution") return visit_convolution(v, layer);
  if (layer.kind == "residual") return visit_residual(v, layer);
  if (layer.kind == "images") {
    v.integer({"image_size", "Pixels of an image's side."}, layer.image_size, between(1, 16384));
    v.integer({"channels", "Channels of an image: 3 for colours, 1 for grey."}, layer.colours, between(1, 65536));
  } else if (layer.kind == "classes") {
    v.integer({"classes", "Classes, of which each image has one."}, layer.classes, between(1, 100000000));
  } else {
    v.integer({"repeat", "How many such layers follow one another."}, layer.repeat, between(1, 65536));
    v.integer({"columns", "Numbers that it gives for each image."}, layer.columns, between(1, 1048576));
    visit_rectifier(v, layer, false);
  }
}

}  // namespace

void visit_layer(KeyVisitor& v, LayerConfig& layer) {
  v.name({"kind",
          "What the layer is. Of texts: an embedding, blocks, the output. Of images: images, convolutions and residual "
          "blocks, dense layers, classes. To draw images: latent numbers, blocks and what enlarges maps, pixels."},
         layer.kind,
         {"embedding", "block", "output", "images", "convolution", "residual", "dense", "classes", "latent", "enlarge",
          "pixels"});
  if (layer.kind == "block") return visit_block(v, layer);
  if (layer.kind == "latent" || layer.kind == "enlarge" || layer.kind == "pixels") return visit_drawing_layer(v, layer);
  if (layer.kind != "embedding" && layer.kind != "output") return visit_image_layer(v, layer);
  if (layer.kind == "output") {
    visit_norm(v, layer, "before the product with the vocabulary");
    v.flag({"tied", "Whether that product shares the weights of the token embedding."}, layer.tied);
    return;
  }
  v.integer({"columns", "Width of what goes from layer to layer."}, layer.columns, between(1, 1048576));
  v.flag({"positions", "Whether each place of a sample has a row of a second table, which is added to the token's."},
         layer.positions);
}

}  // namespace pptrain
