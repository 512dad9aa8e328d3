#include "model/families/decoder.hpp"

#include <fmt/format.h>

#include <cmath>

#include "model/layer_graph.hpp"

namespace pptrain {
namespace {

class Decoder {
 public:
  explicit Decoder(const DecoderShape& shape) : s_(shape) {}

  Model build() const {
    Model model;
    model.name = s_.name;
    model.sample = {s_.tokens, 0, s_.vocabulary};
    model.axes = {
        {ShardAxis::heads, s_.heads}, {ShardAxis::columns, s_.feed_forward}, {ShardAxis::vocabulary, s_.vocabulary}};
    model.layers.push_back(embedding());
    for (std::int64_t i = 0; i < s_.layers; ++i) model.layers.push_back(block(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  Layer embedding() const {
    LayerGraph g("embedding", "model.", s_.deviation);
    ValueIndex x = g.embedding("embed_tokens", {s_.vocabulary, s_.hidden, s_.tokens});
    if (s_.embedding_scale != 1.0) x = g.scale(x, s_.embedding_scale);
    g.output(x);
    return g.finish(s_.compute_bytes);
  }

  Layer block(std::int64_t i) const {
    LayerGraph g(fmt::format("block.{}", i), fmt::format("model.layers.{}.", i), s_.deviation);
    ValueIndex x = g.input({s_.tokens, s_.hidden});
    x = g.add(x, attention(g, g.norm("input_layernorm", x, s_.norm), i));
    x = g.add(x, feed_forward(g, g.norm("post_attention_layernorm", x, s_.norm)));
    g.output(x);
    return g.finish(s_.compute_bytes);
  }

  ValueIndex attention(LayerGraph& g, ValueIndex x, std::int64_t i) const {
    const AxisDivision query_heads = {ShardAxis::heads, 1, s_.head_size};
    const AxisDivision key_heads = {ShardAxis::heads, 1, s_.head_size, s_.heads / s_.key_heads};
    const auto heads = [&](const std::string& name, std::int64_t count, const AxisDivision& divided) {
      return g.linear("self_attn." + name + "_proj", x,
                      {.out = count * s_.head_size, .columns = divided, .bias = s_.query_bias});
    };
    const auto turned = [&](const std::string& name, ValueIndex v) {
      if (s_.head_norms) v = g.head_norm("self_attn." + name + "_norm", v, s_.norm, s_.head_size);
      return g.rotary(v, s_.rotary, s_.head_size);
    };
    const ValueIndex q = turned("q", heads("q", s_.heads, query_heads));
    const ValueIndex k = turned("k", heads("k", s_.key_heads, key_heads));
    const ValueIndex v = heads("v", s_.key_heads, key_heads);
    const std::int64_t window = s_.windows.empty() ? 0 : s_.windows[static_cast<std::size_t>(i)];
    const double scale = 1.0 / std::sqrt(static_cast<double>(s_.head_size));
    const ValueIndex attended = g.attention({q, k, v}, {s_.heads, s_.key_heads, s_.head_size, scale, window});
    return g.linear("self_attn.o_proj", attended, {.out = s_.hidden, .rows = query_heads, .bias = s_.output_bias});
  }

  ValueIndex feed_forward(LayerGraph& g, ValueIndex x) const {
    const AxisDivision columns = {ShardAxis::columns};
    const auto widened = [&](const std::string& name) {
      return g.linear("mlp." + name, x, {.out = s_.feed_forward, .columns = columns, .bias = s_.feed_forward_bias});
    };
    const ValueIndex gate = widened("gate_proj");
    const ValueIndex up = widened("up_proj");
    return g.linear("mlp.down_proj", g.gate(gate, up, s_.activation),
                    {.out = s_.hidden, .rows = columns, .bias = s_.feed_forward_bias});
  }

  Layer output() const {
    LayerGraph g("output", "", s_.deviation);
    const ValueIndex x = g.norm("model.norm", g.input({s_.tokens, s_.hidden}), s_.norm);
    g.loss(g.linear("lm_head", x,
                    {.out = s_.vocabulary,
                     .columns = {ShardAxis::vocabulary},
                     .padded = true,
                     .tied_to = s_.tied ? "model.embed_tokens.weight" : ""}));
    return g.finish(s_.compute_bytes);
  }

  const DecoderShape& s_;
};

}  // namespace

Model decoder(const DecoderShape& shape) { return Decoder(shape).build(); }

}  // namespace pptrain
