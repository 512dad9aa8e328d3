#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "kernels/backend.hpp"
#include "model/model.hpp"
#include "nn/parameters/parameter_store.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// What dropout's random numbers follow from, beside the place in the model.
struct DropoutNumbers {
  std::uint64_t seed = 0;
  std::int64_t first_sample = 0;  ///< of a micro-batch: its number among all samples of the
                                  ///< training
};

/// What a micro-batch is computed for.
enum class BatchUse {
  training,
  recomputation,  ///< its forward pass comes again: what is kept from step to step has been updated
  evaluation,
};

/// What a micro-batch brings to a device, in that device's memory. R = samples * rows of a sample
/// (`SampleShape`).
struct Batch {
  std::size_t samples = 0;
  const std::uint32_t* tokens = nullptr;  ///< (R), for an embedding
  const std::int32_t* targets = nullptr;  ///< (R), for the layer with the loss; below 0: the row
                                          ///< has none
  float loss_scale = 0.0F;                ///< the loss scale / targets of the global batch
  double* loss = nullptr;  ///< to which the last layer's forward adds the sum over the rows; null:
                           ///< nowhere
  const float* features = nullptr;  ///< (R, inputs), for the first layer of a classifier
  /// (R), for attention: for each row the first position, counted within its sample, of the
  /// document that the row belongs to, and which keys may not lie before; null: attention reaches
  /// across documents.
  const std::int32_t* document_begin = nullptr;
  const std::uint32_t* token_types = nullptr;     ///< (R), for an embedding of token types
  const std::uint32_t* decoder_tokens = nullptr;  ///< (R), for the embedding of a decoder
  /// (samples), for attention that is not causal: how many of the input's positions are no padding;
  /// null: all.
  const std::int32_t* input_lengths = nullptr;
  std::optional<DropoutNumbers> dropout = {};  ///< nothing: no element is dropped
  LossForm loss_form = {};  ///< of the loss that is summed and whose gradient is asked for
  double balance = 0.0;     ///< what a row of experts' balance counts for in the scaled loss; 0:
                            ///< nothing
  double* balance_sum = nullptr;  ///< to which forward adds each layer's balance times the rows;
                                  ///< null: nowhere
  /// Whether the balance is over all layers of the model together. The two that follow are of the
  /// host then.
  bool balance_of_model = false;
  /// (2, experts), to which forward adds how many rows chose each expert and its softmax's sum;
  /// null: nowhere.
  double* balance_counts = nullptr;
  const double* chosen_rows = nullptr;  ///< (experts), for the backward pass: how many rows chose
                                        ///< each in all layers
  /// (experts), to which the router of the layer that runs adds how many rows chose each; null:
  /// nowhere.
  double* expert_rows = nullptr;
  BatchUse use = BatchUse::training;
  /// (samples, pixels, channels), for the loss of a network that draws images: what it should have
  /// drawn.
  const float* drawings = nullptr;
  /// How many of the first samples have their loss summed, of a batch that is filled up with
  /// others; nothing: all.
  std::optional<std::size_t> counted_samples = {};

  /// How many of the first of `rows` rows, equally many of each sample, are of samples that count.
  std::size_t counted_rows(std::size_t rows) const {
    return !counted_samples ? rows : samples == 0 ? 0 : rows / samples * *counted_samples;
  }
};

/// The part of the model a device holds, and what its layers run on.
struct LayerContext {
  Backend backend;
  Arena& arena;
  Communicator& tensor_group;  ///< the stage replica's tensor-parallel members
  ParameterStore& parameters;
  const Model& model;
  DType type = DType::f32;                              ///< of activations between products
  std::map<std::string, std::vector<Interval>> shards;  ///< by axis, as in a plan: what is not
                                                        ///< there is divided evenly
  Recompute recompute = Recompute::none;
  WeightDivision division = WeightDivision::columns;  ///< of layers that may be divided either way
  struct RotaryTable {
    RotaryForm form;
    std::shared_ptr<const Tensor> table;
  };
  std::vector<RotaryTable> rotary_tables = {};  ///< that layers have made (nn/rotary_table.hpp)
  /// The stage's replicas with this one's shard, in their order, over whose samples layers sum, and
  /// what each has of a micro-batch; null: there is this one alone.
  Communicator* replicas = nullptr;
  std::vector<Interval> samples = {};

  /// What each member of the group has of an axis, and what this one has.
  std::vector<Interval> parts(ShardAxis axis) const;
  Interval part(ShardAxis axis) const {
    return parts(axis)[static_cast<std::size_t>(tensor_group.rank())];
  }
};

/// What a layer keeps from its forward to its backward passes.
class Saved {
 public:
  virtual ~Saved() = default;
  /// Gives up the layer's input (R, columns); the rest is of no use then.
  virtual Tensor take_input() = 0;
  /// All that it holds between forward and backward_input, some of it perhaps empty. Its memory may
  /// be let go of in between, and the values be elsewhere when it is back.
  virtual std::vector<Tensor*> kept() = 0;
};
using SavedPtr = std::unique_ptr<Saved>;

/// A layer of the chain, or a tensor-parallel shard of it. R rows of `columns` are what its ports
/// say.
///
/// The gradient of the loss is taken apart: `backward_input` gives the gradient of the input and
/// leaves in `saved` what `backward_weight` needs; the latter adds the gradients of weights and
/// biases. LayerNorm's own gradients come with `backward_input`, whose data they share.
/// All three are Collective over the tensor-parallel group, and over the replicas of the stage
/// where layers sum over them, as batch norms do.
class LayerModule {
 public:
  virtual ~LayerModule() = default;
  /// input (R, columns) fp32, empty for the first layer; returns (R, columns), empty for the last
  /// one, which computes the loss. With `saved` null nothing is kept.
  virtual Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) = 0;
  /// gradient (R, columns) of the output, empty for the last layer; returns that of the input,
  /// empty for the first.
  virtual Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) = 0;
  /// Adds the gradients of weights and biases to the store's, once, after `backward_input` of the
  /// same `saved`.
  virtual void backward_weight(const Batch& batch, Saved& saved) = 0;
};

/// Adds a layer's parameters, or this member's shards of them, to the context's store, as a unit of
/// `chunk`. Before it come units of parameters that layers between the first and the last share,
/// where the store does not have them, each of its own: whoever reads one does not need the rest of
/// another layer. Returns the parameters' places there, in the order of the layer.
std::vector<std::size_t> add_parameters(const Layer& layer, ChunkId chunk, LayerContext& context);

/// The module of a layer; its parameters are registered under `chunk`. The context must outlive it.
/// Makes the module of a layer. It keeps what the context's `recompute` says: everything,
/// everything but what attention makes between the projections (`selective`), or its input alone
/// (`full`), unless it keeps less than its input anyway.
std::unique_ptr<LayerModule> make_layer(const Layer& layer, ChunkId chunk, LayerContext& context);

}  // namespace pptrain
