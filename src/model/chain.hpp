#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"

namespace pptrain {

/// A feed-forward part of which each position goes to some experts, as a router chooses, and perhaps to one that is
/// shared by all, behind a gate of its own.
struct ExpertsShape {
  ExpertForm form;                 ///< without experts: one part for all positions
  bool normalised = false;         ///< as of `op::Router`
  double capacity = 0.0;           ///< rows of a sample that an expert takes, in even shares; 0: all
  std::int64_t shared = 0;         ///< columns of the shared expert; 0: none
  std::string part = "mlp";        ///< name of the whole part, ...
  std::string gate = "gate_proj";  ///< ... of the product of an expert that is activated, ...
  std::string up = "up_proj";      ///< ... of the one that it multiplies ...
  std::string down = "down_proj";  ///< ... and of that with the result
};

/// One block of a decoder: norm, self-attention, norm, a feed-forward part, both parts added to the stream.
struct BlockShape {
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;  ///< they divide `heads`
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  NormForm norm = {NormKind::rms, 1e-6F, false};
  RotaryForm rotary = {};  ///< `rotated` = 0: heads do not turn
  Activation activation = Activation::silu;
  bool gated = true;         ///< the feed-forward part has a second product in, which the activated one multiplies
  bool query_bias = false;   ///< of queries, keys and values
  bool output_bias = false;  ///< of attention
  bool feed_forward_bias = false;  ///< of all its products
  bool head_norms = false;         ///< queries and keys are normalised head by head before they turn
  bool parallel = false;           ///< both parts read the block's input, each through its own norm
  std::int64_t window = 0;         ///< as of `op::SelfAttention`
  ExpertsShape experts = {};       ///< each of `feed_forward` columns; gated, without biases
};

/// A language model as a chain: an embedding, blocks that may differ, a norm with the output layer and the loss.
struct ChainShape {
  std::string name;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t tokens = 0;  ///< positions of a sample
  bool positions = false;   ///< each place has a row of a second table, which is added to the token's
  double embedding_scale = 1.0;
  std::vector<BlockShape> blocks;
  NormForm norm = {NormKind::rms, 1e-6F, false};  ///< of the output layer
  bool tied = false;
  double deviation = 0.02;        ///< of initial random weights
  double stream_deviation = 0.0;  ///< of weights whose products are added to the stream; 0: as of all
  double compute_bytes = 4.0;
};

/// The model, with the names of transformers' LlamaForCausalLM.
///
/// A plan divides an axis of the whole model. Where blocks differ in heads or feed-forward columns, a position of the
/// axis stands for equally many heads or columns of each block: the axis is as long as the greatest common divisor of
/// the blocks' numbers, or a divisor of it where key heads need that.
Model build_chain(const ChainShape& shape);

}  // namespace pptrain
