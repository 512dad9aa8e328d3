#include "model/transformer.hpp"

namespace pptrain {
namespace {

/// How often the scores, one number per head, token and position, are read or written between the
/// two products of attention: scaling, masking, softmax and dropout. Fitted with the efficiencies
/// of src/profile/analytic.cpp to measured layers.
constexpr double forward_score_passes = 4.0;
constexpr double backward_score_passes = 16.0;

/// `sources`: tokens of keys and values.
void add_materialised_attention(LayerBuilder& builder, const TransformerSizes& b, double sources) {
  const double scores = b.heads * b.tokens * b.span;
  Kernel kernel;
  kernel.share = Share::divided;
  kernel.flop = attention_flop(b);
  kernel.launches = 2;
  kernel.shard_bytes = builder.element_bytes() * (2.0 * (b.tokens + sources) * b.hidden + 2.0 * scores);
  builder.forward(kernel);
  kernel.flop *= 2.0;
  kernel.launches *= 2;
  kernel.shard_bytes *= 2.0;
  builder.backward_input(kernel);
  builder.elementwise({forward_score_passes * scores, backward_score_passes * scores, 3, 4, Share::divided});
}

/// Normalisation before and dropout and residual sum behind a part of a layer.
void add_around(LayerBuilder& builder, const TransformerSizes& b) {
  builder.elementwise({7.0 * b.tokens * b.hidden, 10.0 * b.tokens * b.hidden, 4, 4, Share::whole});
  builder.backward_weight({0.0, builder.element_bytes() * 2.0 * b.tokens * b.hidden, 0.0, 0.0, 1, Share::whole});
}

/// Positions that a token attends to on average: all up to its own, or the last `window` of them (0: all).
double causal_span(double tokens, double window) {
  if (window <= 0.0 || window >= tokens) return (tokens + 1.0) / 2.0;
  return (window * (window + 1.0) / 2.0 + (tokens - window) * window) / tokens;
}

}  // namespace

void add_fused_attention(LayerBuilder& builder, const op::SelfAttention& attention, double tokens, double keys,
                         double sequences) {
  const double query_columns = static_cast<double>(attention.heads * attention.head_size);
  const double key_columns = static_cast<double>(attention.key_heads * attention.head_size);
  Kernel kernel;
  kernel.share = Share::divided;
  const double span = attention.causal ? causal_span(tokens, static_cast<double>(attention.window)) : keys;
  kernel.flop = sequences * 2.0 * 2.0 * query_columns * tokens * span;
  kernel.shard_bytes =
      sequences * builder.element_bytes() * 2.0 * (tokens * query_columns + keys * key_columns);  // q, output; k, v
  builder.forward(kernel);
  kernel.flop *= 2.0;
  kernel.shard_bytes *= 2.0;  // and their gradients
  builder.backward_input(kernel);
}

double attention_flop(const TransformerSizes& b) { return 2.0 * 2.0 * b.hidden * b.tokens * b.span; }

double block_parameters(const TransformerSizes& b) {
  return 4.0 * b.hidden * b.hidden + 2.0 * b.hidden * b.feed_forward + 9.0 * b.hidden + b.feed_forward;
}

double attention_stored_bytes(const TransformerSizes& b, double e) {
  // Input of the normalisation, of the projections, of the last one, q, k and v, a dropout mask;
  // the scores before and behind dropout and its mask.
  return b.tokens * b.hidden * (6.0 * e + 1.0) + b.heads * b.tokens * b.span * (2.0 * e + 1.0);
}

double feed_forward_stored_bytes(const TransformerSizes& b, double e) {
  return b.tokens * (b.hidden * (2.0 * e + 1.0) + 2.0 * e * b.feed_forward);
}

void add_self_attention(LayerBuilder& builder, const TransformerSizes& b) {
  builder.product(linear(b.tokens, b.hidden, 3.0 * b.hidden, WeightDivision::columns));
  add_materialised_attention(builder, b, b.tokens);
  builder.product(linear(b.tokens, b.hidden, b.hidden, WeightDivision::rows));
  add_around(builder, b);
}

void add_cross_attention(LayerBuilder& builder, const TransformerSizes& b, double source_tokens) {
  builder.product(linear(b.tokens, b.hidden, b.hidden, WeightDivision::columns));
  builder.product(linear(source_tokens, b.hidden, 2.0 * b.hidden, WeightDivision::columns));
  TransformerSizes over = b;
  over.span = source_tokens;
  add_materialised_attention(builder, over, source_tokens);
  builder.product(linear(b.tokens, b.hidden, b.hidden, WeightDivision::rows));
  add_around(builder, b);
}

void add_feed_forward(LayerBuilder& builder, const TransformerSizes& b) {
  builder.product(linear(b.tokens, b.hidden, b.feed_forward, WeightDivision::columns));
  builder.elementwise({4.0 * b.tokens * b.feed_forward, 6.0 * b.tokens * b.feed_forward, 2, 2, Share::divided});
  builder.product(linear(b.tokens, b.feed_forward, b.hidden, WeightDivision::rows));
  add_around(builder, b);
}

void add_embedding(LayerBuilder& builder, double tokens, double hidden) {
  builder.elementwise({5.0 * tokens * hidden, 0.0, 2, 0, Share::whole});
  builder.backward_weight({0.0, builder.element_bytes() * 4.0 * tokens * hidden, 0.0, 0.0, 2, Share::whole});
}

void add_norm(LayerBuilder& builder, double elements) {
  builder.elementwise({2.0 * elements, 3.0 * elements, 1, 1, Share::whole});
}

void add_loss(LayerBuilder& builder, double rows, double classes) {
  Kernel loss;
  loss.shard_bytes = 4.0 * 3.0 * rows * classes;
  loss.launches = 3;
  loss.share = Share::divided;
  builder.forward(loss);
  loss.shard_bytes = 4.0 * 2.0 * rows * classes;
  loss.launches = 1;
  builder.backward_input(loss);
}

void add_output(LayerBuilder& builder, double tokens, double hidden, double vocabulary) {
  add_norm(builder, tokens * hidden);
  builder.product(linear(tokens, hidden, vocabulary, WeightDivision::columns));
  add_loss(builder, tokens, vocabulary);
}

LayerDescription embedding_layer(const std::string& name, double tokens, double hidden, double tables,
                                 double element_bytes) {
  LayerBuilder builder(name, element_bytes);
  add_embedding(builder, tokens, hidden);
  LayerDescription& layer = builder.layer();
  layer.parameters = tables;
  layer.output_bytes = element_bytes * tokens * hidden;
  layer.stored_bytes = tokens * (8.0 + hidden);  // token numbers, and the mask of the dropout behind
  layer.tensor_parallel_allreduce_bytes = layer.output_bytes / 2.0;
  return layer;
}

LayerDescription output_layer(const std::string& name, double tokens, double hidden, double vocabulary,
                              double element_bytes) {
  LayerBuilder builder(name, element_bytes);
  add_output(builder, tokens, hidden, vocabulary);
  LayerDescription& layer = builder.layer();
  layer.parameters = 2.0 * hidden + vocabulary * hidden;
  // Input of the normalisation and of the product, and the logits in fp32.
  layer.stored_bytes = tokens * (2.0 * element_bytes * hidden + 4.0 * vocabulary);
  layer.tensor_parallel_allreduce_bytes = element_bytes * tokens * hidden / 2.0;
  return layer;
}

LayerDescription transformer_layer(const std::string& name, const TransformerSizes& b, double element_bytes) {
  LayerBuilder builder(name, element_bytes);
  add_self_attention(builder, b);
  add_feed_forward(builder, b);
  LayerDescription& layer = builder.layer();
  layer.parameters = block_parameters(b);
  layer.output_bytes = element_bytes * b.tokens * b.hidden;
  layer.stored_bytes = attention_stored_bytes(b, element_bytes) + feed_forward_stored_bytes(b, element_bytes);
  layer.tensor_parallel_allreduce_bytes = 2.0 * layer.output_bytes;
  return layer;
}

}  // namespace pptrain
