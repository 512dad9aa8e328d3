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
enum class LayerKind { embedding, transformer_block, output, dense_input, dense, classifier };

std::string to_string(LayerKind kind);
/// Whether it is the first of a chain, which reads the samples; the last, which computes the loss.
bool reads_samples(LayerKind kind);
bool computes_loss(LayerKind kind);

/// Logical axis along which a parameter may be divided over a tensor-parallel group.
enum class ShardAxis { none, heads, columns, vocabulary, classes, inputs };

std::string to_string(ShardAxis axis);
/// The axes that parameters are divided along, and their names in plans and profiles.
const std::vector<ShardAxis>& shard_axes();
const std::vector<std::string>& shard_axis_names();

/// How a product of activations with weights is divided over a tensor-parallel group: not at all,
/// by columns of the output, or by rows of the input (Shoeybi et al., Megatron-LM, 2019, section 3).
enum class WeightDivision { none, columns, rows };

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
  double deviation = 0.02;               ///< of initial random weights
  ShardAxis row_axis = ShardAxis::none;  ///< of its inputs, where the layer may be divided by rows too

  std::int64_t size() const;
  /// Weight decay applies to tensors with two or more dimensions.
  bool decays() const { return shape.size() >= 2; }
  /// The parameter of a layer divided in this way, where it may be divided either way.
  ParameterSpec divided_by(WeightDivision division) const;
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
/// with the output layer and the loss; for a classifier 0..L-1 are the features, L the classes and the loss.
struct Model {
  std::string name;
  std::vector<Layer> layers;
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  std::int64_t vocabulary_size = 0;
  std::int64_t sequence_length = 0;  ///< rows of a sample
  bool tied = false;
  std::int64_t inputs = 0;   ///< numbers in a sample of a classifier; 0: samples are tokens
  std::int64_t classes = 0;  ///< of a classifier

  int num_layers() const { return static_cast<int>(layers.size()); }
  /// Parameters of the model, a shared tensor counted once.
  std::int64_t num_parameters() const;
  /// Length of a logical axis, 0 where the model has none: heads, columns of the layers' inner products,
  /// vocabulary_size, classes, inputs.
  std::int64_t axis_size(ShardAxis axis) const;
  /// What the degree of an even tensor-parallel grid divides: heads, or columns of a classifier's features.
  std::int64_t divided_units() const;
  bool is_classifier() const { return classes > 0; }
  /// FLOP of one training step per sample, for model FLOP utilisation.
  double flop_per_sample() const;
};

/// Length of each axis by its name in plans.
std::map<std::string, std::int64_t> axes_of(const Model& model);

/// The model of that name with the configuration's dimensions.
/// Bad dimensions (heads that do not divide hidden_size, ...) throw `Error`, exit code 2.
Model build_model(const ModelConfig& model, const TrainingConfig& training, const std::string& source);

}  // namespace pptrain
