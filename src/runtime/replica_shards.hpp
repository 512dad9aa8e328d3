#pragma once

#include <vector>

#include "comm/waiter.hpp"
#include "nn/parameter_store.hpp"
#include "runtime/gradient_reduction.hpp"
#include "runtime/groups.hpp"

namespace pptrain {

/// Keeps the replicas of a shard of the model in step: sums their gradients and, where ZeRO divides
/// parameters over them, hands every replica what it needs.
///
/// Stage 1 sums into each replica's slice, once per iteration, and gathers the weights after the optimizer step.
/// Stage 2 sums the gradients of a layer after each of its backward passes and keeps the slice alone. Stage 3 gathers
/// a layer's weights before each pass that needs them. Every sum is formed in the order of the replicas.
///
/// All functions but the accessors are Collective over the replicas, in one order.
class ReplicaShards {
 public:
  ReplicaShards(ParameterStore& store, RankGroups& groups, Waiter& waiter);

  /// Starts bringing a unit's weights here, if they are divided and not here.
  void prefetch(std::size_t unit);
  /// They are here until as many calls of `release`; `hold` does not wait for them.
  void hold(std::size_t unit);
  void acquire(std::size_t unit);
  void release(std::size_t unit);

  /// A backward pass has added to the gradients of a unit. Divided ones are summed at once.
  void contribute(std::size_t unit);
  /// The gradients of a chunk are complete.
  void reduce(ChunkId chunk);
  /// Moves on what is under way; never blocks.
  void progress();
  /// Ends when everything is summed.
  Pending& reductions() { return reduction_; }

  /// A unit's gradients, summed, whole on every replica and back to slices.
  void gather_gradients(std::size_t unit);
  void scatter_gradients(std::size_t unit);

  /// After the optimizer step.
  void publish_weights();

  /// Units gathered since the start, by stage 3.
  std::int64_t num_gathers() const { return num_gathers_; }

 private:
  struct Use {
    int users = 0;
    PendingPtr pending;  ///< of a gather
  };
  void start_reduction(std::size_t unit);
  void wait(Pending& pending, const char* doing);

  ParameterStore& store_;
  Communicator& gather_;
  Waiter& waiter_;
  GradientReduction reduction_;
  std::vector<Use> uses_;
  std::int64_t num_gathers_ = 0;
};

}  // namespace pptrain
