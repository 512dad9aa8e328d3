#pragma once

#include <mpi.h>

#include <deque>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/waiter.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/data_file.hpp"
#include "runtime/replan/state_exchange.hpp"

namespace pptrain {

/// The datasets of a model's checkpoint: for each parameter, in the order of the layers, its
/// weights and then what the optimizer keeps, as `StatePart::quantity` counts.
std::vector<CheckpointDataset> datasets_of(const Model& model, const OptimizerConfig& optimizer);

/// Moves training state between the ranks that hold it and the blocks of a file.
///
/// Every block is read or written once, whole, by one rank: one of those that hold or need most of
/// it, of these the one that has been given least so far. The rest of it comes or goes in messages,
/// as between two plans. A rank keeps some blocks at a time, never the whole model; a block that it
/// holds in one piece, in memory of the host, it reads or writes in place.
class BlockTransfer {
 public:
  /// `nodes[r]` is the node of rank r; the transport reaches all ranks of `world`. Collective.
  BlockTransfer(MPI_Comm world, Transport& transport, Waiter& waiter, const std::vector<int>& nodes,
                const Model& model, Session& session);

  /// Writes all blocks to the file at `path` and brings them to the disk; afterwards rank 0 knows
  /// all digests. Collective. A failure of one rank is thrown by all.
  void save(const std::string& path, std::vector<CheckpointDataset>& datasets);
  /// Reads and checks all blocks. Collective. A failure of one rank is thrown by all.
  void load(const std::string& path, const std::vector<CheckpointDataset>& datasets);

 private:
  enum class Direction { save, load };
  /// One block of a round: who holds or needs what of it, and who has it in the file.
  struct Block {
    std::size_t dataset;
    int index;
    int rank;       ///< that reads or writes it
    float* values;  ///< of this rank where it does
    std::vector<Elements> held;
    std::vector<Elements> in_file;
  };

  void run(Direction direction, const std::string& path,
           const std::vector<CheckpointDataset>& datasets);
  void add_block(Direction direction, std::size_t dataset, int index, Interval elements,
                 const std::vector<Elements>& held);
  int choose_rank(const std::vector<Elements>& held) const;
  float* place_of(Interval elements, const Elements& own);
  void end_round(Direction direction);
  /// Work on the file; after it has failed once nothing more is tried, but messages go on.
  template <class Action>
  void attempt(const Action& action);
  void gather_digests(std::vector<CheckpointDataset>& datasets);

  MPI_Comm world_;
  Waiter& waiter_;
  const Model& model_;
  const OptimizerConfig& optimizer_;
  HeldParts parts_;
  Transport& transport_;
  StateExchange exchange_;
  std::vector<std::int64_t> given_;     ///< elements of blocks, by rank
  std::vector<std::int64_t> in_round_;  ///< elements of blocks in the round, by rank
  std::vector<Block> round_;
  std::deque<std::vector<float>> buffers_;  ///< of the round
  std::string path_;
  const std::vector<CheckpointDataset>* datasets_ = nullptr;
  std::optional<DataFile> file_;
  std::optional<Error> error_;
  struct Digest {
    std::uint64_t dataset;
    std::uint64_t block;
    std::uint64_t digest;
  };
  std::vector<Digest> digests_;  ///< of the blocks that this rank wrote
};

}  // namespace pptrain
