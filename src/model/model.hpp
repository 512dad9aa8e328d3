#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/interval.hpp"
#include "config/config.hpp"

namespace pptrain {

/// Kinds of layers pptrain can train. Layers of one kind and equal dimensions cost the same.
enum class LayerKind { embedding, transformer_block, output };

std::string to_string(LayerKind kind);

/// Logical axis along which a parameter may be divided over a tensor-parallel group.
enum class ShardAxis { none, heads, columns, vocabulary };

std::string to_string(ShardAxis axis);

/// One logical parameter tensor, whole.
///
/// A sharded dimension of size `groups * axis_size * unit` is divided by intervals of the axis:
/// shard [b, e) holds, in each group g, rows [(g * axis_size + b) * unit, (g * axis_size + e) * unit).
/// c_attn has groups = 3 (q, k, v), axis heads, unit = head size.
struct ParameterSpec {
  std::string name;                 ///< customary GPT-2 name, "h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  ///< linear weights are (out, in)
  ShardAxis axis = ShardAxis::none;
  int dimension = 0;  ///< which dimension is sharded
  std::int64_t groups = 1;
  std::int64_t unit = 1;

  std::int64_t size() const;
  /// Weight decay applies to tensors with two or more dimensions.
  bool decays() const { return shape.size() >= 2; }
  /// Elements of the flattened whole that the shard `part` of the axis (of `axis_size`) holds,
  /// in increasing order; the whole when the parameter is not sharded.
  std::vector<Interval> shard_elements(Interval part, std::int64_t axis_size) const;
};

/// One layer of the chain.
struct Layer {
  std::string name;  ///< unique: "embedding", "block.0", ..., "output"
  LayerKind kind = LayerKind::transformer_block;
  std::vector<ParameterSpec> parameters;
  double flop_forward = 0.0;  ///< per sample; backward_input and backward_weight likewise
  double flop_backward_input = 0.0;
  double flop_backward_weight = 0.0;
  double output_bytes = 0.0;  ///< per sample: what crosses to the next layer
  double stored_bytes = 0.0;  ///< per sample, held from the start of F to the end of B/W, input included
  double tensor_parallel_allreduce_bytes = 0.0;  ///< per sample, in each of F and B

  std::int64_t num_parameters() const;
};

/// A chain of layers: for GPT-2 layer 0 is the embedding, 1..L the blocks, L+1 the final norm
/// with the output layer and the loss.
struct Model {
  std::string name;
  std::vector<Layer> layers;
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  std::int64_t vocabulary_size = 0;
  std::int64_t sequence_length = 0;
  bool tied = false;

  int num_layers() const { return static_cast<int>(layers.size()); }
  /// Parameters of the model, a shared tensor counted once.
  std::int64_t num_parameters() const;
  /// Length of a logical axis: heads, 4 * hidden_size columns, vocabulary_size.
  std::int64_t axis_size(ShardAxis axis) const;
  /// FLOP of one training step per sample, for model FLOP utilisation.
  double flop_per_sample() const;
};

/// Length of each axis by its name in plans.
std::map<std::string, std::int64_t> axes_of(const Model& model);

/// GPT-2 with the configuration's dimensions.
/// Bad dimensions (heads that do not divide hidden_size, ...) throw `Error`, exit code 2.
Model build_model(const ModelConfig& model, const TrainingConfig& training, const std::string& source);

}  // namespace pptrain
