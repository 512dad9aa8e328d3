#include "model/graph/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace pptrain {
namespace {

/// Whether a member that holds positions of an axis of `length` has whole key heads, or a part of
/// those of one. Where a norm is over all key heads members have whole ones, so that each comes
/// from one of them.
bool key_heads_fit(const BlockShape& block, std::int64_t length) {
  const std::int64_t per_position = block.heads / length;
  const std::int64_t group = block.heads / block.key_heads;
  return per_position % group == 0 || (group % per_position == 0 && !block.whole_norms);
}

/// Length of the axis of feed-forward columns.
std::int64_t common_columns(const std::vector<BlockShape>& blocks) {
  std::int64_t length = 0;
  for (const BlockShape& block : blocks) {
    length = std::gcd(std::gcd(length, block.feed_forward), block.experts.shared);
  }
  return length;
}

/// Length of the axis of heads; at most that of the columns, since an even grid divides both by
/// what divides the heads.
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

/// The operators of one block.
class BlockGraph {
 public:
  /// `columns` and `heads`: lengths of these axes.
  BlockGraph(const BlockShape& block, const StreamShape& stream, std::int64_t columns,
             std::int64_t heads, std::int64_t num_routers)
      : b_(block),
        stream_(stream),
        columns_(columns),
        heads_(heads),
        num_routers_(static_cast<double>(num_routers)) {}

  ValueIndex input(LayerGraph& g) const { return g.input({stream_.rows, stream_.columns}); }

  /// The whole block behind `x`.
  ValueIndex with_both(LayerGraph& g, ValueIndex x) const {
    if (!b_.parallel) return with_feed_forward(g, with_attention(g, x));
    const ValueIndex of_attention = attention_part(g, x);
    const ValueIndex of_rows = feed_forward_part(g, x);
    return g.add(g.add(x, of_attention), of_rows);
  }

  /// The stream with the attention's part added.
  ValueIndex with_attention(LayerGraph& g, ValueIndex x) const {
    return g.add(x, attention_part(g, x));
  }
  /// The stream with the feed-forward part added.
  ValueIndex with_feed_forward(LayerGraph& g, ValueIndex x) const {
    return g.add(x, feed_forward_part(g, x));
  }

 private:
  ValueIndex attention_part(LayerGraph& g, ValueIndex x) const {
    return behind(g, "post_attention_layernorm", attention(g, before(g, "input_layernorm", x)));
  }
  ValueIndex feed_forward_part(LayerGraph& g, ValueIndex x) const {
    const bool both = b_.norm_places == NormPlaces::both;
    const ValueIndex read =
        before(g, both ? "pre_feedforward_layernorm" : "post_attention_layernorm", x);
    return behind(g, "post_feedforward_layernorm", feed_forward(g, read));
  }

  /// What a part reads of the stream.
  ValueIndex before(LayerGraph& g, const std::string& norm, ValueIndex x) const {
    return b_.norm_places == NormPlaces::behind ? x : g.norm(norm, x, b_.norm);
  }
  /// What the stream gets of a part's result.
  ValueIndex behind(LayerGraph& g, const std::string& norm, ValueIndex part) const {
    if (b_.norm_places != NormPlaces::before) part = g.norm(norm, part, b_.norm, Element::fp32);
    return b_.part_scale == 1.0 ? part : g.scale(part, b_.part_scale);
  }

  /// A position of the axis has `per_position` query heads, and key heads of its own or one with
  /// its neighbours.
  AxisDivision key_division(std::int64_t per_position) const {
    const std::int64_t group = b_.heads / b_.key_heads;
    if (per_position % group == 0)
      return {ShardAxis::heads, 1, per_position / group * b_.head_size};
    return {ShardAxis::heads, 1, b_.head_size, group / per_position};
  }

  ValueIndex attention(LayerGraph& g, ValueIndex x) const {
    const std::int64_t per_position = b_.heads / heads_;
    const AxisDivision query_heads = {ShardAxis::heads, 1, per_position * b_.head_size};
    const AxisDivision key_heads = key_division(per_position);
    const auto heads = [&](const std::string& name, std::int64_t first, std::int64_t count,
                           bool wide, const AxisDivision& division) {
      return g.linear("self_attn." + name + "_proj", x,
                      {.out = count * b_.head_size,
                       .columns = division,
                       .bias = b_.query_bias,
                       .wide = wide,
                       .file_part = packed("self_attn.qkv_proj", first * b_.head_size,
                                           all_heads() * b_.head_size)});
    };
    const auto turned = [&](const std::string& name, std::int64_t first, std::int64_t count,
                            const AxisDivision& division) {
      const ValueIndex v = normalised(g, name, heads(name, first, count, b_.whole_norms, division));
      return b_.rotary.rotated > 0 ? g.rotary(v, b_.rotary, b_.head_size) : v;
    };
    const ValueIndex q = turned("q", 0, b_.heads, query_heads);
    const ValueIndex k = turned("k", b_.heads, b_.key_heads, key_heads);
    const ValueIndex v = heads("v", b_.heads + b_.key_heads, b_.key_heads, false, key_heads);
    const double scale =
        b_.score_scale > 0.0 ? b_.score_scale : 1.0 / std::sqrt(static_cast<double>(b_.head_size));
    op::SelfAttention shape = {b_.heads, b_.key_heads, b_.head_size, scale, b_.window};
    shape.causal = b_.causal;
    shape.span = b_.span;
    shape.cap = b_.score_cap;
    const ValueIndex attended = g.attention({q, k, v}, shape);
    return g.linear("self_attn.o_proj", attended,
                    {.out = stream_.columns,
                     .rows = query_heads,
                     .bias = b_.output_bias,
                     .deviation = stream_.stream_deviation});
  }

  std::int64_t all_heads() const { return b_.heads + 2 * b_.key_heads; }

  /// Rows of a tensor that files hold several products in; none where each is a tensor of its own.
  FilePart packed(const std::string& name, std::int64_t first, std::int64_t rows) const {
    return b_.packed_files ? FilePart{name, first, rows} : FilePart();
  }

  /// Queries or keys as they turn.
  ValueIndex normalised(LayerGraph& g, const std::string& name, ValueIndex v) const {
    if (b_.head_norms) return g.head_norm("self_attn." + name + "_norm", v, b_.norm, b_.head_size);
    if (!b_.whole_norms) return v;
    // A norm of all heads needs the heads of all members.
    const AxisDivision divided = g.value(v).divided;
    return g.take(g.norm("self_attn." + name + "_norm", g.gather(v), b_.norm), divided);
  }

  ValueIndex feed_forward(LayerGraph& g, ValueIndex x) const {
    if (b_.experts.form.experts > 0) return routed_feed_forward(g, x);
    const AxisDivision columns = {ShardAxis::columns, 1, b_.feed_forward / columns_};
    const auto widened = [&](const std::string& name, std::int64_t first) {
      return g.linear("mlp." + name, x,
                      {.out = b_.feed_forward,
                       .columns = columns,
                       .bias = b_.feed_forward_bias,
                       .file_part = packed("mlp.gate_up_proj", first, 2 * b_.feed_forward)});
    };
    ValueIndex inner = widened(b_.gated ? "gate_proj" : "up_proj", 0);
    inner = b_.gated ? g.gate(inner, widened("up_proj", b_.feed_forward), b_.activation)
                     : g.activate(inner, b_.activation);
    return g.linear("mlp.down_proj", inner,
                    {.out = stream_.columns,
                     .rows = columns,
                     .bias = b_.feed_forward_bias,
                     .deviation = stream_.stream_deviation});
  }

  /// Every member computes the router and the shared expert's gate whole. They come before x enters
  /// divided products, behind which gradients of it are summed over the members.
  ValueIndex routed_feed_forward(LayerGraph& g, ValueIndex x) const {
    const ExpertsShape& e = b_.experts;
    const ValueIndex choice =
        g.router(e.part + ".gate", x, {e.form, e.normalised, capacity(e)}, 1.0 / num_routers_);
    std::optional<ValueIndex> shared_gate;
    if (e.shared > 0)
      shared_gate = g.linear(e.part + ".shared_expert_gate", x, {.out = 1, .full = true});
    const ValueIndex routed = experts(g, x, choice);
    return shared_gate ? g.add(routed, shared_expert(g, x, *shared_gate)) : routed;
  }

  /// Rows of a sample that an expert takes.
  std::int64_t capacity(const ExpertsShape& e) const {
    const double even =
        static_cast<double>(stream_.rows * e.form.chosen) / static_cast<double>(e.form.experts);
    return static_cast<std::int64_t>(std::ceil(e.capacity * even));
  }

  ValueIndex experts(LayerGraph& g, ValueIndex x, ValueIndex choice) const {
    if (!g.exchanges()) return of_experts(g, x, choice, b_.experts.form);
    const ExpertForm& form = b_.experts.form;
    const ValueIndex received = g.send_choices(choice, form);
    const ValueIndex rows = g.send_rows(x, choice, received, form);
    return g.return_rows(of_experts(g, rows, received, {form.experts, 1}), choice, received, form);
  }

  /// What the experts make of rows, by a router's result.
  ValueIndex of_experts(LayerGraph& g, ValueIndex x, ValueIndex choice,
                        const ExpertForm& form) const {
    const ExpertsShape& e = b_.experts;
    const AxisDivision columns = {ShardAxis::columns, 1, b_.feed_forward / columns_};
    const ValueIndex rows = g.dispatch(x, choice, form);
    const auto product = [&](const std::string& name, ValueIndex v,
                             const LayerGraph::LinearShape& shape) {
      std::vector<std::string> names;
      for (std::int64_t i = 0; i < e.form.experts; ++i)
        names.push_back(fmt::format("{}.experts.{}.{}", e.part, i, name));
      return g.expert_linear(names, v, choice, form, shape);
    };
    const ValueIndex gate =
        product(b_.gated ? e.gate : e.up, rows, {.out = b_.feed_forward, .columns = columns});
    std::optional<ValueIndex> up;
    if (b_.gated) up = product(e.up, rows, {.out = b_.feed_forward, .columns = columns});
    const ValueIndex inner = g.weighted_gate(gate, up, choice, b_.activation, form);
    const ValueIndex down =
        product(e.down, inner,
                {.out = stream_.columns, .rows = columns, .deviation = stream_.stream_deviation});
    return g.combine(down, choice, form);
  }

  ValueIndex shared_expert(LayerGraph& g, ValueIndex x, ValueIndex logits) const {
    const std::string part = b_.experts.part + ".shared_expert.";
    const AxisDivision columns = {ShardAxis::columns, 1, b_.experts.shared / columns_};
    const auto widened = [&](const std::string& name) {
      return g.linear(part + name, x, {.out = b_.experts.shared, .columns = columns});
    };
    const ValueIndex gate = widened(b_.gated ? "gate_proj" : "up_proj");
    std::optional<ValueIndex> up;
    if (b_.gated) up = widened("up_proj");
    return g.linear(
        part + "down_proj", g.weighted_gate(gate, up, logits, b_.activation, {}),
        {.out = stream_.columns, .rows = columns, .deviation = stream_.stream_deviation});
  }

  const BlockShape& b_;
  const StreamShape& stream_;
  std::int64_t columns_;
  std::int64_t heads_;
  double num_routers_;
};

bool has_experts(const BlockShape& block) { return block.experts.form.experts > 0; }

}  // namespace

BlockWriter::BlockWriter(const std::vector<BlockShape>& all)
    : columns_(common_columns(all)),
      heads_(common_heads(all, columns_)),
      experts_(common_experts(all)),
      num_routers_(std::count_if(all.begin(), all.end(), has_experts)) {}

std::map<ShardAxis, std::int64_t> BlockWriter::axes() const {
  std::map<ShardAxis, std::int64_t> axes = {{ShardAxis::heads, heads_},
                                            {ShardAxis::columns, columns_}};
  if (experts_ > 0) axes[ShardAxis::experts] = experts_;
  return axes;
}

void BlockWriter::add(Model& model, const BlockShape& block, const StreamShape& stream,
                      std::int64_t number, const std::string& prefix, const Behind& behind) const {
  const BlockGraph graph(block, stream, columns_, heads_, num_routers_);
  // `put` writes a layer down once for every way in which it may be divided.
  const auto layer = [&](const std::string& part, const std::vector<WeightDivision>& divisions,
                         const Behind& put, bool is_last) {
    LayerGraph g(fmt::format("block.{}{}", number, part), prefix, stream.deviation);
    for (const WeightDivision division : divisions) {
      g.begin_division(division);
      const ValueIndex x = put(g, graph.input(g));
      g.output(is_last && behind ? behind(g, x) : x);
    }
    model.layers.push_back(g.finish(stream.compute_bytes));
  };
  if (!has_experts(block)) {
    layer(
        "", {WeightDivision::columns},
        [&](LayerGraph& g, ValueIndex x) { return graph.with_both(g, x); }, true);
    return;
  }
  layer(
      ".attention", {WeightDivision::columns},
      [&](LayerGraph& g, ValueIndex x) { return graph.with_attention(g, x); }, false);
  layer(
      ".experts", {WeightDivision::columns, WeightDivision::experts, WeightDivision::exchange},
      [&](LayerGraph& g, ValueIndex x) { return graph.with_feed_forward(g, x); }, true);
}

}  // namespace pptrain
