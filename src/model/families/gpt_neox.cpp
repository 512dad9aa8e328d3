#include <fmt/format.h>

#include <cmath>

#include "model/families/config_keys.hpp"
#include "model/graph/layer_graph.hpp"

namespace pptrain {
namespace {

/// Black et al., "GPT-NeoX-20B", 2022: a part of each head turns, attention and feed-forward part
/// are added to the stream together.
class GptNeox {
 public:
  GptNeox(const ConfigJson& config, const FamilyOptions& options)
      : tokens_(options.tokens),
        compute_bytes_(options.compute_bytes),
        layers_(config.size("num_hidden_layers", std::nullopt, most_layers)),
        hidden_(config.size("hidden_size", std::nullopt, most_width)),
        heads_(config.size("num_attention_heads", std::nullopt, most_heads)),
        head_size_(hidden_ / heads_),
        feed_forward_(config.size("intermediate_size", std::nullopt, most_columns)),
        vocabulary_(config.size("vocab_size")),
        norm_{NormKind::layer, static_cast<float>(config.number("layer_norm_eps", 1e-5)), false},
        activation_(activation_of(config, "hidden_act", "gelu")),
        bias_(config.boolean("attention_bias", true)),
        parallel_(config.boolean("use_parallel_residual", true)),
        tied_(config.boolean("tie_word_embeddings", false)),
        deviation_(config.number("initializer_range", 0.02)) {
    const std::int64_t rotated = rotated_columns(config, head_size_, "rotary_pct", 0.25);
    rotary_ = rotary_of(config, rotated, 10000.0, "rotary_emb_base");
    config.only("rope_theta", rotary_.theta, "that is the base that transformers' class takes");
    config.integer("max_position_embeddings", 0);
    if (hidden_ % heads_ != 0 || rotated % 2 != 0) {
      config.refuse(
          "num_attention_heads",
          fmt::format("{} heads of {} columns, of which {} turn", heads_, hidden_, rotated),
          "heads have equally many columns, and pairs of them turn",
          "correct hidden_size or the heads");
    }
  }

  Model build() const {
    Model model;
    model.name = "gpt_neox";
    model.sample = {tokens_, 0, vocabulary_};
    model.axes = {{ShardAxis::heads, heads_},
                  {ShardAxis::columns, feed_forward_},
                  {ShardAxis::vocabulary, vocabulary_}};
    LayerGraph g("embedding", "gpt_neox.", deviation_);
    g.output(g.embedding("embed_in", {vocabulary_, hidden_, tokens_}));
    model.layers.push_back(g.finish(compute_bytes_));
    for (std::int64_t i = 0; i < layers_; ++i) model.layers.push_back(block(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  Layer block(std::int64_t i) const {
    LayerGraph g(fmt::format("block.{}", i), fmt::format("gpt_neox.layers.{}.", i), deviation_);
    const ValueIndex x = g.input({tokens_, hidden_});
    const ValueIndex attended = attention(g, g.norm("input_layernorm", x, norm_));
    if (parallel_) {
      const ValueIndex widened = feed_forward(g, g.norm("post_attention_layernorm", x, norm_));
      g.output(g.add(g.add(x, attended), widened));
    } else {
      const ValueIndex middle = g.add(x, attended);
      g.output(g.add(middle, feed_forward(g, g.norm("post_attention_layernorm", middle, norm_))));
    }
    return g.finish(compute_bytes_);
  }

  ValueIndex attention(LayerGraph& g, ValueIndex x) const {
    const ValueIndex qkv = g.linear("attention.query_key_value", x,
                                    {.out = 3 * hidden_,
                                     .columns = {ShardAxis::heads, 3, head_size_},
                                     .bias = bias_,
                                     .layout = FileLayout::heads_outside});
    g.rotary(qkv, rotary_, head_size_, /*packed=*/true);
    const double scale = 1.0 / std::sqrt(static_cast<double>(head_size_));
    const ValueIndex attended = g.attention({qkv}, {heads_, heads_, head_size_, scale});
    return g.linear("attention.dense", attended,
                    {.out = hidden_, .rows = {ShardAxis::heads, 1, head_size_}, .bias = bias_});
  }

  ValueIndex feed_forward(LayerGraph& g, ValueIndex x) const {
    const ValueIndex up =
        g.linear("mlp.dense_h_to_4h", x,
                 {.out = feed_forward_, .columns = {ShardAxis::columns}, .bias = true});
    return g.linear("mlp.dense_4h_to_h", g.activate(up, activation_),
                    {.out = hidden_, .rows = {ShardAxis::columns}, .bias = true});
  }

  Layer output() const {
    LayerGraph g("output", "", deviation_);
    g.language_output(g.input({tokens_, hidden_}),
                      {"gpt_neox.final_layer_norm", norm_, "embed_out", vocabulary_,
                       tied_ ? "gpt_neox.embed_in.weight" : ""});
    return g.finish(compute_bytes_);
  }

  std::int64_t tokens_;
  double compute_bytes_;
  std::int64_t layers_;
  std::int64_t hidden_;
  std::int64_t heads_;
  std::int64_t head_size_;
  std::int64_t feed_forward_;
  std::int64_t vocabulary_;
  NormForm norm_;
  Activation activation_;
  bool bias_;
  bool parallel_;
  bool tied_;
  double deviation_;
  RotaryForm rotary_;
};

}  // namespace

Model build_gpt_neox(const ConfigJson& config, const FamilyOptions& options) {
  return GptNeox(config, options).build();
}

}  // namespace pptrain
