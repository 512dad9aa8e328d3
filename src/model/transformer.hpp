#pragma once

#include "model/layer_builder.hpp"
#include "model/model.hpp"

namespace pptrain {

/// Dimensions of one transformer layer, per sample.
struct TransformerSizes {
  double tokens = 0.0;
  double hidden = 0.0;
  double heads = 0.0;
  double feed_forward = 0.0;  ///< width of the hidden layer of the feed-forward part
  double span = 0.0;          ///< positions for which a token's scores are computed, on average
};

/// FLOP of scores and their product with the values in F; B has twice as many.
double attention_flop(const TransformerSizes& block);
/// Weights and biases of four projections, two of the feed-forward part and two normalisations.
double block_parameters(const TransformerSizes& block);

/// Bytes per sample that are stored of the parts of a layer: Korthikanti et al., "Reducing
/// activation recomputation in large transformer models", 2022, section 4.1, for any element size
/// and feed-forward width. Dropout masks take one byte.
double attention_stored_bytes(const TransformerSizes& block, double element_bytes);
double feed_forward_stored_bytes(const TransformerSizes& block, double element_bytes);

/// The work of attention of `tokens` positions to `keys` of them, or of others, tile by tile, without projections; for
/// `sequences` of such positions in a sample.
void add_fused_attention(LayerBuilder& builder, const op::SelfAttention& attention, double tokens, double keys,
                         double sequences = 1.0);

/// The work of attention of a layer over itself, its projections divided by heads.
void add_self_attention(LayerBuilder& builder, const TransformerSizes& block);
/// The same over `source_tokens` of an encoder's output, which is projected to keys and values here.
void add_cross_attention(LayerBuilder& builder, const TransformerSizes& block, double source_tokens);
/// The work of the feed-forward part, divided by its hidden columns.
void add_feed_forward(LayerBuilder& builder, const TransformerSizes& block);

/// Looking up tokens and adding their positions.
void add_embedding(LayerBuilder& builder, double tokens, double hidden);
/// One normalisation of `elements` numbers.
void add_norm(LayerBuilder& builder, double elements);
/// The loss over `classes` of each of `rows` vectors, in fp32 whatever the precision, its classes divided.
void add_loss(LayerBuilder& builder, double rows, double classes);
/// The last normalisation, the product with the vocabulary's rows, and the loss.
void add_output(LayerBuilder& builder, double tokens, double hidden, double vocabulary);

/// Looking up `positions` tokens; `tables` is the number of parameters. One all-reduce, of the
/// result, in F; a profile has one number for F and B, so each gets half.
LayerDescription embedding_layer(const std::string& name, double tokens, double hidden, double tables,
                                 double element_bytes);
/// The last normalisation, the vocabulary's product, and the loss. One all-reduce, in B.
LayerDescription output_layer(const std::string& name, double tokens, double hidden, double vocabulary,
                              double element_bytes);

/// A whole layer of encoder or decoder-only kind with its sizes: parameters, bytes, two all-reduces.
LayerDescription transformer_layer(const std::string& name, const TransformerSizes& block, double element_bytes);

}  // namespace pptrain
