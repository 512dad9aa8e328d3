#include "model/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "model/layer_graph.hpp"

namespace pptrain {
namespace {

/// Whether a member that holds positions of an axis of `length` has whole key heads, or a part of those of one.
bool key_heads_fit(const BlockShape& block, std::int64_t length) {
  const std::int64_t per_position = block.heads / length;
  const std::int64_t group = block.heads / block.key_heads;
  return per_position % group == 0 || group % per_position == 0;
}

/// Length of the axis of feed-forward columns.
std::int64_t common_columns(const std::vector<BlockShape>& blocks) {
  std::int64_t length = 0;
  for (const BlockShape& block : blocks) {
    length = std::gcd(std::gcd(length, block.feed_forward), block.experts.shared);
  }
  return length;
}

/// Length of the axis of heads; at most that of the columns, since an even grid divides both by what divides the heads.
std::int64_t common_heads(const std::vector<BlockShape>& blocks, std::int64_t columns) {
  std::int64_t length = 0;
  for (const BlockShape& block : blocks) length = std::gcd(length, block.heads);
  if (length > columns) length = std::gcd(length, columns);
  for (bool changed = true; changed;) {
    changed = false;
    for (const BlockShape& block : blocks) {
      if (key_heads_fit(block, length)) continue;
      length = std::gcd(length, block.key_heads);
      changed = true;
    }
  }
  return length;
}

/// How many experts each block with any has; 0: they differ, or there are none.
std::int64_t common_experts(const std::vector<BlockShape>& blocks) {
  std::int64_t number = 0;
  for (const BlockShape& block : blocks) {
    const std::int64_t own = block.experts.form.experts;
    if (own > 0 && number > 0 && own != number) return 0;
    number = std::max(number, own);
  }
  return number;
}

class Chain {
 public:
  explicit Chain(const ChainShape& shape)
      : s_(shape), columns_(common_columns(shape.blocks)), heads_(common_heads(shape.blocks, columns_)) {}

  Model build() const {
    Model model;
    model.name = s_.name;
    model.sample = {s_.tokens, 0, s_.vocabulary};
    model.axes = {{ShardAxis::heads, heads_}, {ShardAxis::columns, columns_}, {ShardAxis::vocabulary, s_.vocabulary}};
    if (const std::int64_t experts = common_experts(s_.blocks); experts > 0) model.axes[ShardAxis::experts] = experts;
    model.layers.push_back(embedding());
    for (std::size_t i = 0; i < s_.blocks.size(); ++i) add_block(model, i);
    model.layers.push_back(output());
    return model;
  }

 private:
  Layer embedding() const {
    LayerGraph g("embedding", "model.", s_.deviation);
    LayerGraph::EmbeddingShape shape = {s_.vocabulary, s_.hidden, s_.tokens};
    if (s_.positions) shape.positions = "embed_positions", shape.num_positions = s_.tokens;
    ValueIndex x = g.embedding("embed_tokens", shape);
    if (s_.embedding_scale != 1.0) x = g.scale(x, s_.embedding_scale);
    g.output(x);
    return g.finish(s_.compute_bytes);
  }

  /// A part with experts is a layer of its own, so that a plan may divide the experts over devices that share the
  /// samples of the attention before them.
  void add_block(Model& model, std::size_t i) const {
    const BlockShape& b = s_.blocks[i];
    if (b.experts.form.experts == 0) {
      model.layers.push_back(layer(i, "", {WeightDivision::columns}, [&](LayerGraph& g) { put_block(g, b); }));
      return;
    }
    model.layers.push_back(layer(i, ".attention", {WeightDivision::columns}, [&](LayerGraph& g) {
      const ValueIndex x = g.input({s_.tokens, s_.hidden});
      g.output(with_attention(g, x, b));
    }));
    model.layers.push_back(layer(i, ".experts", {WeightDivision::columns, WeightDivision::experts}, [&](LayerGraph& g) {
      const ValueIndex x = g.input({s_.tokens, s_.hidden});
      g.output(with_feed_forward(g, x, b));
    }));
  }

  /// `put` writes the layer down once for every way in which it may be divided.
  template <class Put>
  Layer layer(std::size_t i, const std::string& part, const std::vector<WeightDivision>& divisions,
              const Put& put) const {
    LayerGraph g(fmt::format("block.{}{}", i, part), fmt::format("model.layers.{}.", i), s_.deviation);
    for (const WeightDivision division : divisions) {
      g.begin_division(division);
      put(g);
    }
    return g.finish(s_.compute_bytes);
  }

  void put_block(LayerGraph& g, const BlockShape& b) const {
    const ValueIndex x = g.input({s_.tokens, s_.hidden});
    if (b.parallel) {
      const ValueIndex of_attention = attention(g, g.norm("input_layernorm", x, b.norm), b);
      const ValueIndex of_rows = feed_forward(g, g.norm("post_attention_layernorm", x, b.norm), b);
      g.output(g.add(g.add(x, of_attention), of_rows));
    } else {
      g.output(with_feed_forward(g, with_attention(g, x, b), b));
    }
  }

  /// The stream with the attention's part added.
  ValueIndex with_attention(LayerGraph& g, ValueIndex x, const BlockShape& b) const {
    return g.add(x, attention(g, g.norm("input_layernorm", x, b.norm), b));
  }
  /// The stream with the feed-forward part added.
  ValueIndex with_feed_forward(LayerGraph& g, ValueIndex x, const BlockShape& b) const {
    return g.add(x, feed_forward(g, g.norm("post_attention_layernorm", x, b.norm), b));
  }

  /// A position of the axis has `per_position` query heads, and key heads of its own or one with its neighbours.
  AxisDivision key_division(const BlockShape& b, std::int64_t per_position) const {
    const std::int64_t group = b.heads / b.key_heads;
    if (per_position % group == 0) return {ShardAxis::heads, 1, per_position / group * b.head_size};
    return {ShardAxis::heads, 1, b.head_size, group / per_position};
  }

  ValueIndex attention(LayerGraph& g, ValueIndex x, const BlockShape& b) const {
    const std::int64_t per_position = b.heads / heads_;
    const AxisDivision query_heads = {ShardAxis::heads, 1, per_position * b.head_size};
    const AxisDivision key_heads = key_division(b, per_position);
    const auto heads = [&](const std::string& name, std::int64_t count, const AxisDivision& divided) {
      return g.linear("self_attn." + name + "_proj", x,
                      {.out = count * b.head_size, .columns = divided, .bias = b.query_bias});
    };
    const auto turned = [&](const std::string& name, ValueIndex v) {
      if (b.head_norms) v = g.head_norm("self_attn." + name + "_norm", v, b.norm, b.head_size);
      return b.rotary.rotated > 0 ? g.rotary(v, b.rotary, b.head_size) : v;
    };
    const ValueIndex q = turned("q", heads("q", b.heads, query_heads));
    const ValueIndex k = turned("k", heads("k", b.key_heads, key_heads));
    const ValueIndex v = heads("v", b.key_heads, key_heads);
    const double scale = 1.0 / std::sqrt(static_cast<double>(b.head_size));
    const ValueIndex attended = g.attention({q, k, v}, {b.heads, b.key_heads, b.head_size, scale, b.window});
    return g.linear("self_attn.o_proj", attended,
                    {.out = s_.hidden, .rows = query_heads, .bias = b.output_bias, .deviation = s_.stream_deviation});
  }

  ValueIndex feed_forward(LayerGraph& g, ValueIndex x, const BlockShape& b) const {
    if (b.experts.form.experts > 0) return routed_feed_forward(g, x, b);
    const AxisDivision columns = {ShardAxis::columns, 1, b.feed_forward / columns_};
    const auto widened = [&](const std::string& name) {
      return g.linear("mlp." + name, x, {.out = b.feed_forward, .columns = columns, .bias = b.feed_forward_bias});
    };
    ValueIndex inner = widened(b.gated ? "gate_proj" : "up_proj");
    inner = b.gated ? g.gate(inner, widened("up_proj"), b.activation) : g.activate(inner, b.activation);
    return g.linear("mlp.down_proj", inner,
                    {.out = s_.hidden, .rows = columns, .bias = b.feed_forward_bias, .deviation = s_.stream_deviation});
  }

  /// Every member computes the router and the shared expert's gate whole. They come before x enters divided products,
  /// behind which gradients of it are summed over the members.
  ValueIndex routed_feed_forward(LayerGraph& g, ValueIndex x, const BlockShape& b) const {
    const ExpertsShape& e = b.experts;
    const ValueIndex choice = g.router(e.part + ".gate", x, {e.form, e.normalised, capacity(e)}, 1.0 / num_routers());
    std::optional<ValueIndex> shared_gate;
    if (e.shared > 0) shared_gate = g.linear(e.part + ".shared_expert_gate", x, {.out = 1, .full = true});
    const ValueIndex routed = experts(g, x, choice, b);
    return shared_gate ? g.add(routed, shared_expert(g, x, *shared_gate, b)) : routed;
  }

  /// Rows of a sample that an expert takes.
  std::int64_t capacity(const ExpertsShape& e) const {
    const double even = static_cast<double>(s_.tokens * e.form.chosen) / static_cast<double>(e.form.experts);
    return static_cast<std::int64_t>(std::ceil(e.capacity * even));
  }

  double num_routers() const {
    return static_cast<double>(std::count_if(s_.blocks.begin(), s_.blocks.end(),
                                             [](const BlockShape& b) { return b.experts.form.experts > 0; }));
  }

  ValueIndex experts(LayerGraph& g, ValueIndex x, ValueIndex choice, const BlockShape& b) const {
    const ExpertsShape& e = b.experts;
    const AxisDivision columns = {ShardAxis::columns, 1, b.feed_forward / columns_};
    const ValueIndex rows = g.dispatch(x, choice, e.form);
    const auto product = [&](const std::string& name, ValueIndex v, const LayerGraph::LinearShape& shape) {
      std::vector<std::string> names;
      for (std::int64_t i = 0; i < e.form.experts; ++i)
        names.push_back(fmt::format("{}.experts.{}.{}", e.part, i, name));
      return g.expert_linear(names, v, choice, e.form, shape);
    };
    const ValueIndex gate = product(e.gate, rows, {.out = b.feed_forward, .columns = columns});
    const ValueIndex up = product(e.up, rows, {.out = b.feed_forward, .columns = columns});
    const ValueIndex inner = g.weighted_gate(gate, up, choice, b.activation, e.form);
    const ValueIndex down =
        product(e.down, inner, {.out = s_.hidden, .rows = columns, .deviation = s_.stream_deviation});
    return g.combine(down, choice, e.form);
  }

  ValueIndex shared_expert(LayerGraph& g, ValueIndex x, ValueIndex logits, const BlockShape& b) const {
    const std::string part = b.experts.part + ".shared_expert.";
    const AxisDivision columns = {ShardAxis::columns, 1, b.experts.shared / columns_};
    const ValueIndex gate = g.linear(part + "gate_proj", x, {.out = b.experts.shared, .columns = columns});
    const ValueIndex up = g.linear(part + "up_proj", x, {.out = b.experts.shared, .columns = columns});
    return g.linear(part + "down_proj", g.weighted_gate(gate, up, logits, b.activation, {}),
                    {.out = s_.hidden, .rows = columns, .deviation = s_.stream_deviation});
  }

  Layer output() const {
    LayerGraph g("output", "", s_.deviation);
    g.language_output(g.input({s_.tokens, s_.hidden}),
                      {"model.norm", s_.norm, "lm_head", s_.vocabulary, s_.tied ? "model.embed_tokens.weight" : ""});
    return g.finish(s_.compute_bytes);
  }

  const ChainShape& s_;
  std::int64_t columns_;  ///< length of the axis
  std::int64_t heads_;    ///< likewise
};

}  // namespace

Model build_chain(const ChainShape& shape) { return Chain(shape).build(); }

}  // namespace pptrain
