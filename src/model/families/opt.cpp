#include <fmt/format.h>

#include <cmath>

#include "model/families/config_keys.hpp"
#include "model/graph/layer_graph.hpp"

namespace pptrain {
namespace {

/// The rows of OPT's table of places begin with two that no token takes.
constexpr std::int64_t first_place = 2;

/// Zhang et al., "OPT: Open Pre-trained Transformer Language Models", arXiv:2205.01068: GPT's
/// blocks with ReLU, queries, keys and values by products of their own.
class Opt {
 public:
  Opt(const ConfigJson& config, const FamilyOptions& options)
      : tokens_(options.tokens),
        compute_bytes_(options.compute_bytes),
        layers_(config.size("num_hidden_layers", std::nullopt, most_layers)),
        hidden_(config.size("hidden_size", std::nullopt, most_width)),
        heads_(config.size("num_attention_heads", std::nullopt, most_heads)),
        feed_forward_(config.size("ffn_dim", std::nullopt, most_columns)),
        vocabulary_(config.size("vocab_size")),
        positions_(config.size("max_position_embeddings")),
        activation_(activation_of(config, "activation_function", "relu")),
        bias_(config.boolean("enable_bias", true)),
        tied_(config.boolean("tie_word_embeddings", true)),
        deviation_(config.number("init_std", 0.02)) {
    config.only("word_embed_proj_dim", hidden_, "embeddings are as wide as the blocks");
    config.only("do_layer_norm_before", true,
                "norms come before attention and the feed-forward part");
    config.only("_remove_final_layer_norm", false, "the last block is followed by a norm");
    config.only("layer_norm_elementwise_affine", true, "norms have weights and biases");
    check_sizes(config);
  }

  Model build() const {
    Model model;
    model.name = "opt";
    model.sample = {tokens_, 0, vocabulary_};
    model.axes = {{ShardAxis::heads, heads_},
                  {ShardAxis::columns, feed_forward_},
                  {ShardAxis::vocabulary, vocabulary_}};
    LayerGraph g("embedding", "model.decoder.", deviation_);
    g.output(g.embedding("embed_tokens", {vocabulary_, hidden_, tokens_, "embed_positions",
                                          positions_ + first_place, first_place}));
    model.layers.push_back(g.finish(compute_bytes_));
    for (std::int64_t i = 0; i < layers_; ++i) model.layers.push_back(block(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  void check_sizes(const ConfigJson& config) const {
    if (hidden_ % heads_ != 0) {
      config.refuse("num_attention_heads", fmt::format("{} heads of {} columns", heads_, hidden_),
                    "each head needs an equal whole number of columns",
                    "correct hidden_size or the heads");
    }
    if (tokens_ <= positions_) return;
    config.refuse(
        "max_position_embeddings",
        fmt::format("sequence_length = {} with max_position_embeddings = {}", tokens_, positions_),
        "each position has a row of its table of places",
        fmt::format("use [training] sequence_length <= {}", positions_));
  }

  Layer block(std::int64_t i) const {
    LayerGraph g(fmt::format("block.{}", i), fmt::format("model.decoder.layers.{}.", i),
                 deviation_);
    ValueIndex x = g.input({tokens_, hidden_});
    x = g.add(x, attention(g, g.norm("self_attn_layer_norm", x, norm_)));
    x = g.add(x, feed_forward(g, g.norm("final_layer_norm", x, norm_)));
    g.output(x);
    return g.finish(compute_bytes_);
  }

  ValueIndex attention(LayerGraph& g, ValueIndex x) const {
    const std::int64_t head_size = hidden_ / heads_;
    const AxisDivision heads = {ShardAxis::heads, 1, head_size};
    const auto product = [&](const std::string& name) {
      return g.linear("self_attn." + name + "_proj", x,
                      {.out = hidden_, .columns = heads, .bias = bias_});
    };
    const ValueIndex q = product("q"), k = product("k"), v = product("v");
    const double scale = 1.0 / std::sqrt(static_cast<double>(head_size));
    const ValueIndex attended = g.attention({q, k, v}, {heads_, heads_, head_size, scale});
    return g.linear("self_attn.out_proj", attended, {.out = hidden_, .rows = heads, .bias = bias_});
  }

  ValueIndex feed_forward(LayerGraph& g, ValueIndex x) const {
    const AxisDivision columns = {ShardAxis::columns};
    const ValueIndex up =
        g.linear("fc1", x, {.out = feed_forward_, .columns = columns, .bias = bias_});
    return g.linear("fc2", g.activate(up, activation_),
                    {.out = hidden_, .rows = columns, .bias = bias_});
  }

  Layer output() const {
    LayerGraph g("output", "", deviation_);
    g.language_output(g.input({tokens_, hidden_}),
                      {"model.decoder.final_layer_norm", norm_, "lm_head", vocabulary_,
                       tied_ ? "model.decoder.embed_tokens.weight" : ""});
    return g.finish(compute_bytes_);
  }

  std::int64_t tokens_;
  double compute_bytes_;
  std::int64_t layers_;
  std::int64_t hidden_;
  std::int64_t heads_;
  std::int64_t feed_forward_;
  std::int64_t vocabulary_;
  std::int64_t positions_;
  NormForm norm_ = {NormKind::layer, 1e-5F, false};
  Activation activation_;
  bool bias_;
  bool tied_;
  double deviation_;
};

}  // namespace

Model build_opt(const ConfigJson& config, const FamilyOptions& options) {
  return Opt(config, options).build();
}

}  // namespace pptrain
