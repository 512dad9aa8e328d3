#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "config/schedule_kinds.hpp"

namespace pptrain {

/// Seconds of one micro-batch of a chunk on its rank.
struct TaskSeconds {
  double forward = 1.0;
  double backward_input = 1.0;
  double backward_weight = 1.0;
  /// Seconds of F, B and W together.
  double sum() const { return forward + backward_input + backward_weight; }
  auto operator<=>(const TaskSeconds&) const = default;
};

/// One micro-batch over a cut, in one direction.
struct CutWay {
  double seconds = 0.0;  ///< until it has arrived
  double busy = 0.0;     ///< of these, how long it keeps the next one waiting
  auto operator<=>(const CutWay&) const = default;
};

/// How data cross from a chunk to the next and back.
struct Cut {
  enum class Port {
    own,    ///< transfers wait for those between the same two ranks in the same direction
    uplink  ///< for all that their sender sends and their receiver receives over cuts of this kind
  };
  CutWay forward;
  CutWay backward;
  Port port = Port::own;

  Cut() = default;
  Cut(CutWay there, CutWay back, Port shared) : forward(there), backward(back), port(shared) {}
  /// Latency alone.
  Cut(double seconds)
      : forward{seconds, 0.0}, backward{seconds, 0.0} {}  // NOLINT(google-explicit-constructor)
  auto operator<=>(const Cut&) const = default;
};

/// What a rank stores of one micro-batch of a chunk, and needs beside what it stores while a task
/// runs.
struct StoredBytes {
  double before = 0.0;    ///< stored from the start of F to the end of B
  double after = 0.0;     ///< stored from there to the end of W
  double forward = 0.0;   ///< needed while F runs
  double backward = 0.0;  ///< needed while B runs
  double weight = 0.0;    ///< needed while W runs, beside `after`
  auto operator<=>(const StoredBytes&) const = default;
};

/// Bytes that a B of a rank with these chunks needs, or any W behind it.
double backward_bytes(const std::vector<StoredBytes>& chunks);
/// Bytes with which one micro-batch after another gets through all chunks of a rank.
double least_room(const std::vector<StoredBytes>& chunks);

/// How long orders are searched that a schedule improves step by step.
enum class OrderEffort {
  sketch,  ///< as the likely policies make them: no step improves them
  brief,   ///< by the same policies, with a quarter of the steps
  full,    ///< by all policies, with all steps
};

/// What a task order depends on: a pipeline of p ranks with V chunks each, and what its tasks cost.
/// The replicas and shards of a stage follow one order, so they count as one rank here.
struct PipelineShape {
  int ranks = 1;            ///< p
  int chunks_per_rank = 1;  ///< V
  ChunkPlacement placement = ChunkPlacement::loop;
  int micro_batches = 1;             ///< m
  std::vector<TaskSeconds> seconds;  ///< of each chunk in layer order; empty: all tasks take 1
  std::vector<Cut> cuts;  ///< between each chunk and the next; empty: transfers take no time
  /// All-reduce of a chunk's gradients after its last W, beside tasks and after those before it on
  /// the rank; empty: 0.
  std::vector<double> reduce_seconds;
  /// Per rank, the most (micro-batch, chunk) activations stored from the start of F to the end of
  /// W; empty: no limit.
  std::vector<int> most_stored;
  std::vector<StoredBytes> stored;  ///< of each chunk; empty where `room` is
  /// Per rank, the bytes that stored activations and running tasks may take at a time; empty: no
  /// limit.
  std::vector<double> room;
  int unit = 0;  ///< ZeroPP's U; 0: chosen
  OrderEffort effort = OrderEffort::full;

  /// A room may be exceeded by this factor, since sums of bytes round.
  static constexpr double rounding = 1.0 + 1e-9;

  /// Chunks of all ranks; they are numbered from 0 in layer order.
  int num_chunks() const { return ranks * chunks_per_rank; }
  /// The rank that has a chunk, as `placement` says.
  int rank_of(int chunk) const;
  /// The v-th chunk of a rank in layer order.
  int chunk_of(int rank, int v) const;
  /// What the tasks of a chunk take.
  TaskSeconds seconds_of(int chunk) const {
    return seconds.empty() ? TaskSeconds{} : seconds[chunk];
  }
  /// Between chunk and chunk + 1; nothing between chunks of one rank.
  Cut cut_after(int chunk) const;
  /// What the all-reduce of a chunk's gradients takes, in seconds.
  double reduce_seconds_of(int chunk) const {
    return reduce_seconds.empty() ? 0.0 : reduce_seconds[chunk];
  }
  /// What each chunk of a rank stores.
  std::vector<StoredBytes> stored_of(int rank) const;
  /// F, B and W of one micro-batch over all chunks of a rank.
  double rank_seconds(int rank) const;
};

/// Throws `Error` (exit code 2) where a shape contradicts itself.
void check_shape(const PipelineShape& shape);

}  // namespace pptrain
