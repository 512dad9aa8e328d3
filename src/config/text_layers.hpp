#pragma once

#include <cstdint>

#include "config/layer_forms.hpp"

// Layers of a network of texts that the user writes down as [[model.layer]]. `visit` has the keys
// of each.
namespace pptrain {

class KeyVisitor;

/// What a layer normalises its input by.
struct NormConfig {
  NormKind kind = NormKind::layer;
  double epsilon = 1e-5;
};

/// Tokens become vectors.
struct EmbeddingConfig {
  static constexpr const char* name = "embedding";
  std::int64_t columns = 64;  ///< hidden width, of the whole chain
  bool positions = false;     ///< each place has a row of a second table
};
void visit(KeyVisitor& visitor, EmbeddingConfig& layer);

/// Feed-forward parts of a block, of which each position goes to some.
struct ExpertsConfig {
  std::int64_t number = 0;  ///< 0: one part for all positions
  std::int64_t per_token = 2;
  bool sum_to_one = true;   ///< weights of the chosen ones
  double capacity = 0.0;    ///< rows of a sample that each takes, in even shares of them; 0: all
  std::int64_t shared = 0;  ///< columns of a part that all positions go to as well; 0: there is
                            ///< none
  std::int64_t every = 1;   ///< one in so many of `repeat` has experts, the last of them
};

/// Equal transformer blocks.
struct BlockConfig {
  static constexpr const char* name = "block";
  std::int64_t repeat = 1;  ///< how many follow one another
  std::int64_t heads = 4;
  std::int64_t key_heads = 0;     ///< 0: as many as heads
  std::int64_t head_size = 0;     ///< 0: columns / heads
  std::int64_t feed_forward = 0;  ///< 0: four times the hidden width
  Activation activation = Activation::gelu_tanh;
  bool gated = false;
  double rotary_theta = 0.0;  ///< 0: heads do not turn
  double rotary_share = 1.0;  ///< part of a head's columns that turns
  bool query_bias = false;    ///< of queries, keys and values
  bool output_bias = false;   ///< of attention
  bool feed_forward_bias = false;
  bool head_norms = false;
  ExpertsConfig experts;
  bool parallel = false;    ///< both parts of the block read its input
  std::int64_t window = 0;  ///< positions that are seen, 0: all earlier ones; of images pixels of a
                            ///< square's side
  NormConfig norm;

  /// Heads of keys and of values: as many as of queries where `key_heads` is 0.
  std::int64_t num_key_heads() const { return key_heads > 0 ? key_heads : heads; }
  /// Columns of one head in a chain that is `hidden` columns wide.
  std::int64_t head_columns(std::int64_t hidden) const {
    return head_size > 0 ? head_size : hidden / heads;
  }
  /// Columns of a head that turn.
  std::int64_t rotated_columns(std::int64_t hidden) const;
};
void visit(KeyVisitor& visitor, BlockConfig& layer);

/// The product with the vocabulary, and the loss.
struct OutputConfig {
  static constexpr const char* name = "output";
  NormConfig norm;
  bool tied = false;  ///< it shares the token embedding
};
void visit(KeyVisitor& visitor, OutputConfig& layer);

}  // namespace pptrain
