#include "config/text_layers.hpp"

#include <cmath>

#include "config/chain_layer.hpp"
#include "config/check_chain.hpp"
#include "config/keys.hpp"
#include "config/ranges.hpp"

namespace pptrain {
namespace {

const NameTable<NormKind> norms = {{NormKind::layer, "layer"}, {NormKind::rms, "rms"}};
const NameTable<Activation> activations = {{Activation::gelu_tanh, "gelu_tanh"},
                                           {Activation::gelu, "gelu"},
                                           {Activation::silu, "silu"},
                                           {Activation::relu, "relu"}};

void visit_norm(KeyVisitor& v, NormConfig& norm, const std::string& place) {
  visit_kind(v, {"norm", "The normalisation " + place + "."}, norm.kind, norms);
  v.number({"epsilon", "What is added to the variance, or the mean square, under its root."},
           norm.epsilon, positive("it keeps a division finite"));
}

void visit_attention(KeyVisitor& v, BlockConfig& layer) {
  v.integer({"heads", "Attention heads."}, layer.heads, between(1, 65536));
  v.integer({"key_heads", "Heads of keys and values, which divide `heads`; 0: as many as heads."},
            layer.key_heads, between(0, 65536));
  v.integer({"head_size", "Columns of a head; 0: the embedding's columns divided by heads."},
            layer.head_size, between(0, 1048576));
  v.number(
      {"rotary_theta",
       "Base of rotary positions, by which queries and keys turn, often 10000; 0: they do not."},
      layer.rotary_theta, not_negative());
  v.number({"rotary_share", "Part of a head's columns that turns: pairs of columns."},
           layer.rotary_share, {0.0, 1.0, true, false, "it is a part"});
  v.integer({"window",
             "Latest positions that each sees, its own included; 0: all earlier ones. Where images "
             "are drawn: pixels of "
             "a side of the squares within which pixels see each other; 0: all see all."},
            layer.window, at_least(0));
  v.flag({"query_bias", "Whether queries, keys and values have a bias."}, layer.query_bias);
  v.flag({"output_bias", "Whether the product behind attention has one."}, layer.output_bias);
  v.flag({"head_norms", "Whether queries and keys are normalised head by head before they turn."},
         layer.head_norms);
}

void visit_experts(KeyVisitor& v, ExpertsConfig& experts) {
  v.integer({"experts",
             "Feed-forward parts of which each position goes to some, as a router chooses; 0: one "
             "part for all positions."},
            experts.number, between(0, 65536));
  v.integer({"experts_every",
             "One in so many of `repeat` blocks has the experts, the last of them; the others have "
             "one part."},
            experts.every, between(1, 65536));
  v.integer({"experts_per_token", "To how many of them a position goes."}, experts.per_token,
            between(1, 65536));
  v.flag({"experts_sum_to_one", "Whether the weights of those are made to sum to 1."},
         experts.sum_to_one);
  v.number({"expert_capacity",
            "Positions of a sample that an expert takes at most, where 1 is an even share of them, "
            "rounded up; the others "
            "go on without it. 0: all that choose it."},
           experts.capacity, not_negative());
  v.integer(
      {"shared_expert",
       "Columns of a part that all positions go to as well, behind a gate; 0: there is none."},
      experts.shared, between(0, 4194304));
}

/// A written configuration has all keys, so that only other values than the defaults ask for
/// something.
void check_no_experts(const ChainLayer& chain, const ExpertsConfig& experts) {
  const ExpertsConfig none;
  const std::string key = experts.per_token != none.per_token     ? "experts_per_token"
                          : experts.every != none.every           ? "experts_every"
                          : experts.sum_to_one != none.sum_to_one ? "experts_sum_to_one"
                          : experts.capacity != none.capacity     ? "expert_capacity"
                          : experts.shared != none.shared         ? "shared_expert"
                                                                  : "";
  if (key.empty()) return;
  chain.refuse(key, key + " without experts", "the block has one feed-forward part",
               "add experts, or remove the key");
}

void check_experts(const ChainLayer& chain, const BlockConfig& block) {
  const ExpertsConfig& experts = block.experts;
  if (experts.number == 0) return check_no_experts(chain, experts);
  if (experts.per_token > experts.number) {
    chain.refuse(
        "experts_per_token",
        fmt::format("experts_per_token = {} with experts = {}", experts.per_token, experts.number),
        "a position goes to several experts, each another one", "correct one of the two numbers");
  }
  if (block.repeat % experts.every != 0) {
    chain.refuse("experts_every",
                 fmt::format("experts_every = {} of repeat = {}", experts.every, block.repeat),
                 "blocks with experts come at equal distances", "use a divisor of repeat");
  }
  const std::string key = block.parallel ? "parallel" : "feed_forward_bias";
  if (!block.parallel && !block.feed_forward_bias) return;
  chain.refuse(key, fmt::format("{} = true with experts", key),
               block.parallel ? "a part with experts comes behind attention, as a layer of its own"
                              : "experts have no biases",
               "remove the key");
}

}  // namespace

std::int64_t BlockConfig::rotated_columns(std::int64_t hidden) const {
  return rotary_theta > 0.0 ? std::llround(rotary_share * static_cast<double>(head_columns(hidden)))
                            : 0;
}

void visit(KeyVisitor& v, EmbeddingConfig& layer) {
  v.integer({"columns", "Width of what goes from layer to layer."}, layer.columns,
            between(1, 1048576));
  v.flag({"positions",
          "Whether each place of a sample has a row of a second table, which is added to the "
          "token's."},
         layer.positions);
}

void visit(KeyVisitor& v, BlockConfig& layer) {
  v.integer({"repeat", "How many such blocks follow one another."}, layer.repeat,
            between(1, 65536));
  visit_attention(v, layer);
  v.integer({"feed_forward",
             "Inner columns of the feed-forward part; 0: four times the embedding's columns."},
            layer.feed_forward, between(0, 4194304));
  visit_kind(
      v,
      {"activation",
       "Of the feed-forward part; \"gelu_tanh\" is GPT-2's form of GELU, \"gelu\" the exact one."},
      layer.activation, activations);
  v.flag({"gated", "Whether the activated product is multiplied by a second one, as in SwiGLU."},
         layer.gated);
  v.flag({"feed_forward_bias", "Whether products of the feed-forward part have a bias."},
         layer.feed_forward_bias);
  visit_experts(v, layer.experts);
  visit_norm(v, layer.norm, "before attention and before the feed-forward part");
  v.flag(
      {"parallel",
       "Whether both parts read the block's input and are added to it together, as in GPT-NeoX."},
      layer.parallel);
}

void visit(KeyVisitor& v, OutputConfig& layer) {
  visit_norm(v, layer.norm, "before the product with the vocabulary");
  v.flag({"tied", "Whether that product shares the weights of the token embedding."}, layer.tied);
}

void check_block(const ChainLayer& chain, const BlockConfig& block, std::int64_t hidden) {
  if (block.head_size == 0 && hidden % block.heads != 0) {
    chain.refuse("heads",
                 fmt::format("heads = {} does not divide columns = {}", block.heads, hidden),
                 "every head gets equally many columns", "use other heads, or give head_size");
  }
  if (block.heads % block.num_key_heads() != 0) {
    chain.refuse(
        "key_heads",
        fmt::format("key_heads = {} does not divide heads = {}", block.key_heads, block.heads),
        "every key head serves equally many query heads", "use a divisor of heads");
  }
  const std::int64_t rotated = block.rotated_columns(hidden);
  if (block.rotary_theta > 0.0 && (rotated == 0 || rotated % 2 != 0)) {
    chain.refuse(
        "rotary_share",
        fmt::format("{} of {} columns of a head turn", rotated, block.head_columns(hidden)),
        "rotary positions turn pairs of columns", "use another head_size or rotary_share");
  }
  check_experts(chain, block);
}

void check_texts(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  const std::int64_t columns =
      ChainLayer(config, 0).as<EmbeddingConfig>("tokens become vectors first").columns;
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    check_block(layer, layer.as<BlockConfig>("what stands between embedding and output is a block"),
                columns);
  }
  ChainLayer(config, layers.size() - 1).as<OutputConfig>("the last layer computes the loss");
}

}  // namespace pptrain
