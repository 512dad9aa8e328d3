#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/model.hpp"

namespace pptrain {

/// The experts of a block; none where `number` is 0.
struct RoutedPart {
  std::int64_t number = 0;
  std::int64_t chosen = 0;    ///< by each token
  bool normalised = false;    ///< whether the weights of the chosen ones sum to 1
  std::int64_t capacity = 0;  ///< rows of a sample that an expert takes at most; 0: all
  std::int64_t shared = 0;  ///< columns of the part that all tokens go to as well; 0: there is none
  bool shared_gate = false;  ///< whether a gate of its own scales that part
};

/// A decoder-only transformer of equal blocks in the numbers by which other trainers are told of
/// one. They are read off the operators of a model's layers, so that every family whose layers are
/// these has one.
struct DecoderShape {
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::int64_t tokens = 0;        ///< positions of a sample
  std::int64_t heads = 0;         ///< of queries
  std::int64_t key_heads = 0;     ///< of keys and values
  std::int64_t head_size = 0;     ///< columns
  std::int64_t feed_forward = 0;  ///< columns of the inner products, of each expert where there are
                                  ///< experts
  Activation activation = Activation::gelu_tanh;
  bool gated = false;
  NormForm norm;
  std::int64_t learned_positions = 0;  ///< rows of a table of positions; 0: there is none
  std::optional<RotaryForm> rotary;
  std::int64_t window = 0;  ///< positions that are seen; 0: all earlier ones
  bool query_bias = false;  ///< of queries, keys and values
  bool output_bias = false;
  bool feed_forward_bias = false;
  bool head_norms = false;
  bool tied = false;      ///< whether the output layer has the token embedding's weights
  bool parallel = false;  ///< whether both parts of a block read its input
  double embedding_scale = 1.0;
  RoutedPart experts;
  std::vector<Interval> blocks;  ///< layers of the chain that each block is; layer 0 is the
                                 ///< embedding, the last the output

  /// Transformer blocks, without the embedding and the output layer.
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks.size()); }
  /// Whether some product of attention or of the feed-forward part has a bias.
  bool has_biases() const { return query_bias || output_bias || feed_forward_bias; }
};

/// The shape of the model. One that is no decoder of equal blocks throws `Error` (exit code 2) with
/// `source` as the place and the name of the trainer that was to run it.
DecoderShape decoder_shape(const Model& model, const std::string& trainer,
                           const std::string& source);

}  // namespace pptrain
