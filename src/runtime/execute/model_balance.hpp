#pragma once

#include <mpi.h>

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "comm/mpi_communicator.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// The balance of experts over all layers of the model together: the share of rows that chose an
/// expert, and the mean of its softmax, are those of all layers before they are multiplied, as
/// transformers' `load_balancing_loss_func` has it.
///
/// Backward, a layer needs how many rows chose each expert in all others. No derivative goes that
/// way: what a chunk's layers have counted in a micro-batch goes to the devices of all other stages
/// once its forward pass is over, in messages of the host that are beside the program. A backward
/// pass of a micro-batch comes behind the last chunk's forward one, so all has been sent by then.
/// What devices of one stage count is summed over their replicas already: each has the same.
class ModelBalance {
 public:
  /// Collective over `world`. All of the arguments must outlive it; no role: a rank that the plan
  /// leaves out.
  ModelBalance(MPI_Comm world, const Model& model, const Plan& plan, const RankMap& map,
               std::optional<Role> role);

  /// An iteration begins: nothing is counted.
  void start();
  /// (2, experts), to which the layers of an own chunk add how many rows chose each expert, and its
  /// softmax's sum; null where the chunk has no experts.
  double* counts(ChunkId chunk, MicroBatchId micro_batch);
  /// Behind the forward pass of an own chunk: others are sent what has been counted.
  void send(ChunkId chunk, MicroBatchId micro_batch);
  /// (experts), how many rows of the micro-batch chose each in all layers of the model. Before any
  /// backward pass of it; `wait` waits for messages.
  const double* chosen_rows(MicroBatchId micro_batch, const std::function<void(Pending&)>& wait);
  /// The sum over the micro-batches of their balance times their rows, in their order; 0 on all
  /// devices but one.
  double sum() const;
  /// The iteration ends: waits until what was sent has gone.
  void finish(const std::function<void(Pending&)>& wait);

 private:
  using Key = std::pair<int, int>;  ///< chunk, micro-batch
  struct Chunk {
    ChunkId id;
    StageId stage;
  };

  bool has_experts(ChunkId chunk) const;
  const std::vector<RankId>& ranks_of(StageId stage) const { return ranks_[stage.index()]; }
  int tag_of(ChunkId chunk, MicroBatchId micro_batch) const;
  std::vector<double>& counts_of(ChunkId chunk, MicroBatchId micro_batch);
  void receive(MicroBatchId micro_batch, const std::function<void(Pending&)>& wait);
  double balance(const std::vector<double>& counts) const;

  MpiTransport transport_;
  op::ExpertBalance form_;                  ///< of every layer with experts
  std::vector<Chunk> chunks_;               ///< those with experts, in order
  std::vector<std::vector<RankId>> ranks_;  ///< of each stage's devices
  std::optional<StageId> stage_;            ///< of this rank; nothing: the plan leaves it out
  std::size_t place_ = 0;                   ///< among the devices of the stage
  int num_micro_batches_ = 0;
  std::map<Key, std::vector<double>> counts_;    ///< of own chunks, and what has come of others
  std::map<int, std::vector<double>> of_model_;  ///< by micro-batch: their sum
  std::list<PendingPtr> sends_;
};

}  // namespace pptrain
