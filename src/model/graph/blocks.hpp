#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/graph/layer_graph.hpp"
#include "model/model.hpp"

namespace pptrain {

/// A feed-forward part of which each position goes to some experts, as a router chooses, and
/// perhaps to one that is shared by all, behind a gate of its own.
struct ExpertsShape {
  ExpertForm form;           ///< without experts: one part for all positions
  bool normalised = false;   ///< as of `op::Router`
  double capacity = 0.0;     ///< rows of a sample that an expert takes, in even shares; 0: all
  std::int64_t shared = 0;   ///< columns of the shared expert; 0: none
  std::string part = "mlp";  ///< name of the whole part
  std::string gate = "gate_proj";  ///< name of the product of an expert that is activated
  std::string up = "up_proj";      ///< name of the product that the activated one multiplies
  std::string down = "down_proj";  ///< name of the product with the result
};

/// A block normalises what each part reads (Llama), what each part gives before the stream gets it
/// (OLMo et al., "2 OLMo 2 Furious", 2025), or both (Gemma team, "Gemma 2", 2024).
enum class NormPlaces { before, behind, both };

/// One block: norm, self-attention, norm, a feed-forward part, both parts added to the stream.
struct BlockShape {
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;  ///< they divide `heads`
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  NormForm norm = {NormKind::rms, 1e-6F, false};
  RotaryForm rotary = {};  ///< `rotated` = 0: heads do not turn
  Activation activation = Activation::silu;
  bool gated = true;  ///< the feed-forward part has a second product in, which the activated one
                      ///< multiplies
  bool query_bias = false;         ///< of queries, keys and values
  bool output_bias = false;        ///< of attention
  bool feed_forward_bias = false;  ///< of all its products
  bool head_norms = false;   ///< queries and keys are normalised head by head before they turn
  bool whole_norms = false;  ///< queries and keys are normalised over all of their heads before
                             ///< they turn
  NormPlaces norm_places = NormPlaces::before;
  double score_scale = 0.0;  ///< queries times keys are multiplied by it; 0: by 1 / sqrt(head_size)
  double score_cap = 0.0;    ///< as of `op::SelfAttention`
  double part_scale = 1.0;   ///< what both parts give is multiplied by it before the stream gets it
  bool packed_files = false;  ///< files hold queries, keys and values as one tensor, and both
                              ///< products of a gate
  bool parallel = false;      ///< both parts read the block's input, each through its own norm
  std::int64_t window = 0;    ///< as of `op::SelfAttention`
  bool causal = true;         ///< as of `op::SelfAttention`
  std::int64_t span = 0;      ///< as of `op::SelfAttention`
  ExpertsShape experts = {};  ///< each of `feed_forward` columns, without biases
};

/// The stream that a block reads and adds to, and how its layers are written down.
struct StreamShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double deviation = 0.02;        ///< of initial random weights
  double stream_deviation = 0.0;  ///< of weights whose products are added to the stream; 0: as of
                                  ///< all
  double compute_bytes = 4.0;
};

/// Writes the blocks of a model down as layers.
///
/// A plan divides an axis of the whole model. Where blocks differ in heads or feed-forward columns,
/// a position of the axis stands for equally many heads or columns of each block: the axis is as
/// long as the greatest common divisor of the blocks' numbers, or a divisor of it where key heads
/// need that.
class BlockWriter {
 public:
  /// `all`: the blocks of the model.
  explicit BlockWriter(const std::vector<BlockShape>& all);

  /// The axes that blocks are divided along, with their lengths.
  std::map<ShardAxis, std::int64_t> axes() const;

  /// What a function puts down behind a block's result, as a part of the same layer.
  using Behind = std::function<ValueIndex(LayerGraph&, ValueIndex)>;
  /// Adds block `number` of the model: a layer or, with experts, one of attention and one of the
  /// feed-forward part, so that a plan may divide the experts over devices that share the samples
  /// of the attention before them. Names of parameters begin with `prefix`. `behind`: on the last
  /// of them.
  void add(Model& model, const BlockShape& block, const StreamShape& stream, std::int64_t number,
           const std::string& prefix, const Behind& behind = {}) const;

 private:
  std::int64_t columns_ = 0;  ///< length of the axis of columns
  std::int64_t heads_ = 0;    ///< length of the axis of heads
  std::int64_t experts_ = 0;  ///< length of the axis of experts; 0: there is none
  std::int64_t num_routers_ = 0;
};

}  // namespace pptrain
