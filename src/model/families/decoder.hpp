#pragma once

#include <vector>

#include "model/model.hpp"

namespace pptrain {

/// Dimensions of a decoder of the Llama line (Touvron et al., 2023): blocks of norm, attention with rotary positions,
/// norm and a gated feed-forward part, both added to the stream.
struct DecoderShape {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t tokens = 0;  ///< positions of a sample
  NormForm norm = {NormKind::rms, 1e-6F, false};
  RotaryForm rotary;
  Activation activation = Activation::silu;
  bool query_bias = false;         ///< of queries, keys and values
  bool output_bias = false;        ///< of attention
  bool feed_forward_bias = false;  ///< of all three products
  bool head_norms = false;         ///< queries and keys are normalised head by head before they turn
  bool tied = false;
  double embedding_scale = 1.0;
  std::vector<std::int64_t> windows;  ///< of each layer, as of `op::SelfAttention`; empty: none
  double deviation = 0.02;            ///< of initial random weights
  double compute_bytes = 4.0;
};

/// The chain, with the names of transformers' LlamaForCausalLM.
Model decoder(const DecoderShape& shape);

}  // namespace pptrain
