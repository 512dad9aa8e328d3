#pragma once

#include <memory>
#include <vector>

#include "nn/layer.hpp"
#include "runtime/execute/replica_shards.hpp"

namespace pptrain {

/// A layer whose parameters replicas share: brings its weights here for a pass if they are divided,
/// those of the layer that comes next, in this task or the next one, while it computes, hands its
/// gradients on, and moves on what is under way between replicas.
class ShardedLayer final : public LayerModule {
 public:
  /// Units of the parameter store that layers of one chunk read.
  struct Units {
    std::vector<std::size_t> own;
    std::vector<std::size_t> begun;  ///< that no layer before this one reads: their gradients are
                                     ///< whole behind its W
    std::vector<std::size_t> before;
    std::vector<std::size_t> after;
  };
  ShardedLayer(std::unique_ptr<LayerModule> layer, ReplicaShards& shards, ChunkId chunk,
               Units units)
      : layer_(std::move(layer)), shards_(shards), chunk_(chunk), units_(std::move(units)) {}

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override;
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override;
  void backward_weight(const Batch& batch, Saved& saved) override;

 private:
  /// Neighbours in the order of the pass.
  void acquire(const std::vector<std::size_t>& previous, const std::vector<std::size_t>& next);
  void release();

  std::unique_ptr<LayerModule> layer_;
  ReplicaShards& shards_;
  ChunkId chunk_;
  Units units_;
};

}  // namespace pptrain
