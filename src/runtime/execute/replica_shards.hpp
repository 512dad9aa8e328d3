#pragma once

#include <optional>
#include <vector>

#include "comm/waiter.hpp"
#include "nn/parameters/parameter_store.hpp"
#include "runtime/execute/gradient_sums.hpp"

namespace pptrain {

/// What a backward pass does to the gradients of its chunk.
enum class GradientPass { adds, completes };

/// Keeps the replicas of a shard of the model in step: sums their gradients and, where ZeRO divides
/// parameters over them, hands every replica what it needs.
///
/// Gradients are summed in buckets: in the pass that completes a chunk's, as soon as those of the
/// layers that it has come through fill one (Li et al., 2020, "PyTorch Distributed",
/// Section 3.2.2), beside the layers that it has yet to come to.
///
/// Stage 1 sums into each replica's slice, once per iteration, and gathers the weights after the
/// optimizer step. Stage 2 sums the gradients of a layer after each of its backward passes and
/// keeps the slice alone. Stage 3 gathers a layer's weights before each pass that needs them. Where
/// a stage has several ZeRO groups all this happens within the group, and its sums are then summed,
/// slice by slice and once per iteration, over the groups.
///
/// All functions but the accessors are Collective over the replicas, in one order.
class ReplicaShards {
 public:
  /// `members`: the tensor-parallel group, where its members have samples of their own: gradients
  /// of what all of them hold are summed over it too.
  ReplicaShards(ParameterStore& store, PartGroups& groups, Waiter& waiter,
                const GradientWire& wire = {}, Communicator* members = nullptr);
  /// Waits for all that is published.
  ~ReplicaShards();
  ReplicaShards(const ReplicaShards&) = delete;
  ReplicaShards& operator=(const ReplicaShards&) = delete;

  /// Starts bringing a unit's weights here, if they are divided and not here.
  void prefetch(std::size_t unit);
  /// Weights of a unit are here until as many calls of `release`; `hold` does not wait for them.
  void hold(std::size_t unit);
  /// Does what `hold` does and waits until the unit's weights are here.
  void acquire(std::size_t unit);
  /// Ends one `hold` or `acquire` of a unit; behind the last one its gathered weights give back
  /// their memory.
  void release(std::size_t unit);

  /// Layers of this chunk add to gradients from now on.
  void enter(ChunkId chunk) { store_.enter(chunk); }
  /// The backward pass that comes.
  void begin(GradientPass pass) { pass_ = pass; }
  /// The pass has added to the gradients of a unit, last units first. Divided ones of matrices are
  /// summed at once.
  void contribute(std::size_t unit);
  /// The gradients of a chunk are complete: sums what is not yet summed.
  void reduce(ChunkId chunk);
  /// Moves on what is under way; never blocks.
  void progress();
  /// Ends when everything is summed.
  Pending& reductions() { return sums_; }
  /// Lets go of what sums that have ended still hold.
  void drop_summed() { sums_.drop_ended(); }

  /// A unit's gradients, summed, whole on every replica and back to slices.
  void gather_gradients(std::size_t unit);
  /// Keeps this replica's slice of a unit's whole gradients and frees the rest; nothing below ZeRO
  /// stage 2.
  void scatter_gradients(std::size_t unit);

  /// The optimizer has updated this replica's part of a unit: starts sending it to the others and
  /// bringing theirs, which goes on beside the rest of the step and the next tasks. Who reads the
  /// weights before they are whole waits.
  void publish_weights(std::size_t unit);
  /// Waits for all that is published.
  void settle();

  /// What the next task begins with: `carry`, at the last layer of a task, keeps it here or starts
  /// bringing it; `take_over`, at the first layer of the next one, which holds it itself, lets it
  /// go.
  void announce(std::vector<std::size_t> units) { announced_ = std::move(units); }
  /// Holds the announced units until `take_over`.
  void carry();
  /// Releases what `carry` holds.
  void take_over();

  /// Units gathered since the start, by stage 3.
  std::int64_t num_gathers() const { return num_gathers_; }

 private:
  struct Use {
    int users = 0;
    PendingPtr pending;  ///< of a gather, or of what is published
  };

  void reduce_divided(std::size_t unit, UnitGradients which);
  void start_reduction(std::size_t unit, UnitGradients which);
  void complete(std::size_t unit);
  void sum_over_members(std::size_t unit, UnitGradients which);
  void sum_complete();
  void sum(std::size_t unit);
  void settle(std::size_t unit);
  void wait(Pending& pending, const char* doing);

  ParameterStore& store_;
  Communicator& gather_;
  Waiter& waiter_;
  Communicator* members_;
  GradientSums sums_;
  GradientPass pass_ = GradientPass::adds;
  std::optional<std::size_t> last_complete_;  ///< of the units of the chunk whose gradients become
                                              ///< complete
  std::vector<std::size_t> complete_;  ///< units up to it that are not yet summed, last ones first
  std::size_t num_complete_ = 0;       ///< elements of theirs
  std::vector<Use> uses_;
  std::vector<std::size_t> announced_;
  std::vector<std::size_t> carried_;
  std::int64_t num_gathers_ = 0;
};

}  // namespace pptrain
