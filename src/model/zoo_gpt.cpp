#include <fmt/format.h>

#include "model/transformer.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {
namespace {

TransformerSizes block_of(const GptShape& s) {
  const auto hidden = static_cast<double>(s.hidden);
  const auto tokens = static_cast<double>(s.tokens);
  return {tokens, hidden, static_cast<double>(s.heads), 4.0 * hidden, tokens};
}

double embedding_parameters(const GptShape& s) { return static_cast<double>((s.vocabulary + s.tokens) * s.hidden); }

LayerDescription embedding_of(const GptShape& s, double e) {
  return embedding_layer("embedding", static_cast<double>(s.tokens), static_cast<double>(s.hidden),
                         embedding_parameters(s), e);
}

LayerDescription output_of(const GptShape& s, double e) {
  return output_layer("output", static_cast<double>(s.tokens), static_cast<double>(s.hidden),
                      static_cast<double>(s.vocabulary), e);
}

/// A description without layers yet.
ModelDescription frame(const GptShape& s, Precision precision) {
  ModelDescription model;
  model.precision = precision;
  model.shared_parameters = static_cast<double>(s.vocabulary * s.hidden);
  model.tensor_parallel_degrees = dividing_degrees(s.heads);
  model.axes = {{"heads", s.heads}, {"columns", 4 * s.hidden}, {"vocabulary", s.vocabulary}};
  return model;
}

/// A layer of AMP's list that hands its input on.
LayerDescription pass_on(const std::string& name, double output_bytes) {
  LayerDescription layer;
  layer.name = name;
  layer.output_bytes = output_bytes;
  return layer;
}

/// The output layer as AMP's list has it: normalisation, product with the vocabulary, loss.
std::vector<LayerDescription> output_in_parts(const GptShape& shape, double e) {
  const auto tokens = static_cast<double>(shape.tokens);
  const auto hidden = static_cast<double>(shape.hidden);
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  const double residual_bytes = e * tokens * hidden;
  LayerBuilder norm("norm", e);
  add_norm(norm, tokens * hidden);
  norm.layer().parameters = 2.0 * hidden;
  norm.layer().output_bytes = norm.layer().stored_bytes = residual_bytes;
  LayerBuilder logits("logits", e);
  logits.product(linear(tokens, hidden, vocabulary, WeightDivision::columns));
  logits.layer().parameters = vocabulary * hidden;
  logits.layer().output_bytes = e * tokens * vocabulary;
  logits.layer().stored_bytes = residual_bytes;
  logits.layer().tensor_parallel_allreduce_bytes = residual_bytes / 2.0;  // in B only
  LayerBuilder loss("loss", e);
  add_loss(loss, tokens, vocabulary);
  loss.layer().stored_bytes = 4.0 * tokens * vocabulary;
  return {norm.layer(), logits.layer(), loss.layer()};
}

/// Gating, the sending of every token to two experts, and their feed-forward parts.
///
/// Expert parallelism at degree n is tensor parallelism n with the experts as shards: the members
/// of a group hold the same samples, each runs the experts that are its own, and the sum over
/// members of what the experts return is one all-reduce of the layer's output. Two all-to-alls of
/// every token to its two experts, with the samples divided over the members, move 2 / n as much.
void add_experts(LayerBuilder& builder, const MoeShape& s, const TransformerSizes& b) {
  constexpr double experts_per_token = 2.0;  // Lepikhin et al., GShard, 2020, algorithm 1
  const auto experts = static_cast<double>(s.experts);
  builder.product(linear(b.tokens, b.hidden, experts));
  builder.elementwise({4.0 * b.tokens * experts, 6.0 * b.tokens * experts, 6, 6, Share::whole});
  // Alpa's implementation sends and gathers by products with a (tokens, experts x capacity) mask of
  // 2 group_tokens columns; no weights.
  const double slots = experts_per_token * b.tokens;
  const double mask_columns = experts_per_token * static_cast<double>(s.group_tokens);
  for (int direction = 0; direction < 2; ++direction) {
    Kernel send;
    send.share = Share::divided;
    send.flop = 2.0 * b.tokens * mask_columns * b.hidden;
    send.bytes = builder.element_bytes() * b.tokens * b.hidden;
    send.shard_bytes = builder.element_bytes() * (slots * b.hidden + b.tokens * mask_columns);
    builder.forward(send);
    builder.backward_input(send);
  }
  Product up = linear(slots, b.hidden, b.feed_forward, WeightDivision::columns);
  up.weights *= experts;
  builder.product(up);
  builder.elementwise({2.0 * slots * b.feed_forward, 3.0 * slots * b.feed_forward, 1, 1, Share::divided});
  Product down = linear(slots, b.feed_forward, b.hidden, WeightDivision::rows);
  down.weights *= experts;
  builder.product(down);
  builder.elementwise({5.0 * b.tokens * b.hidden, 6.0 * b.tokens * b.hidden, 3, 3, Share::whole});
}

LayerDescription moe_layer(const std::string& name, const MoeShape& s, const TransformerSizes& b, double e) {
  LayerBuilder builder(name, e);
  add_self_attention(builder, b);
  add_experts(builder, s, b);
  LayerDescription& layer = builder.layer();
  const auto experts = static_cast<double>(s.experts);
  const double slots = 2.0 * b.tokens;
  layer.parameters =
      4.0 * b.hidden * b.hidden + 8.0 * b.hidden + b.hidden * experts + 2.0 * experts * b.hidden * b.feed_forward;
  layer.output_bytes = e * b.tokens * b.hidden;
  layer.stored_bytes = attention_stored_bytes(b, e) +
                       e * (2.0 * b.tokens * b.hidden + 2.0 * slots * (b.hidden + b.feed_forward)) +
                       e * b.tokens * 2.0 * static_cast<double>(s.group_tokens);
  layer.tensor_parallel_allreduce_bytes = 2.0 * layer.output_bytes;  // attention's and the experts'
  return layer;
}

}  // namespace

ModelDescription gpt(const GptShape& shape, Precision precision) {
  const double e = element_bytes(precision);
  ModelDescription model = frame(shape, precision);
  model.layers.push_back(embedding_of(shape, e));
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    model.layers.push_back(transformer_layer(fmt::format("block.{}", i), block_of(shape), e));
  }
  model.layers.push_back(output_of(shape, e));
  return model;
}

ModelDescription amp_gpt2(Precision precision) {
  // AMP, section 6.2 and tables 6-9: 24 layers, hidden size 1024, sequence length 1024, vocabulary
  // 52256; layers 3 to 26 of a list of 30 are transformer layers. 16 heads: the authors' scripts.
  const GptShape shape = {24, 1024, 16, 52256, 1024};
  ModelDescription model = gpt(shape, precision);
  const double residual_bytes = model.layers.front().output_bytes;
  model.layers.pop_back();
  model.layers.insert(model.layers.begin() + 1, pass_on("transpose.0", residual_bytes));
  model.layers.push_back(pass_on("transpose.1", residual_bytes));
  for (const LayerDescription& layer : output_in_parts(shape, element_bytes(precision))) model.layers.push_back(layer);
  return model;
}

ModelDescription gpt_moe(const MoeShape& shape, Precision precision) {
  const double e = element_bytes(precision);
  ModelDescription model = frame(shape.gpt, precision);
  model.axes.clear();  // experts are not divided
  TransformerSizes block = block_of(shape.gpt);
  block.feed_forward = static_cast<double>(shape.feed_forward);
  model.layers.push_back(embedding_of(shape.gpt, e));
  for (std::int64_t i = 0; i < shape.gpt.layers; ++i) {
    const std::string name = fmt::format("block.{}", i);
    model.layers.push_back(i % 2 == 0 ? moe_layer(name, shape, block, e) : transformer_layer(name, block, e));
  }
  model.layers.push_back(output_of(shape.gpt, e));
  return model;
}

}  // namespace pptrain
