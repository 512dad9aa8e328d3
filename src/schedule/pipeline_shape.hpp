#pragma once

#include <cstddef>
#include <vector>

namespace pptrain {

/// Seconds of one micro-batch of a chunk on its rank.
struct TaskSeconds {
  double forward = 1.0;
  double backward_input = 1.0;
  double backward_weight = 1.0;
  double sum() const { return forward + backward_input + backward_weight; }
};

/// Which rank runs a chunk.
enum class ChunkPlacement {
  loop,    ///< chunk c on rank c mod p; with one chunk per rank the plain pipeline
  v_shape  ///< chunks r and 2p-1-r on rank r
};

/// What a task order depends on: a pipeline of p ranks with V chunks each, and what its tasks cost.
/// The replicas and shards of a stage follow one order, so they count as one rank here.
struct PipelineShape {
  int ranks = 1;            ///< p
  int chunks_per_rank = 1;  ///< V
  ChunkPlacement placement = ChunkPlacement::loop;
  int micro_batches = 1;             ///< m
  std::vector<TaskSeconds> seconds;  ///< of each chunk in layer order; empty: all tasks take 1
  /// Seconds until what a chunk sends reaches the next chunk, or back; size p V - 1, empty: 0. Occupies
  /// nothing, and is nothing between chunks of one rank.
  std::vector<double> cut_seconds;
  /// Per rank, the most (micro-batch, chunk) activations stored from the start of F to the end of W;
  /// empty: no limit.
  std::vector<int> most_stored;
  int unit = 0;  ///< ZeroPP's U; 0: chosen

  int num_chunks() const { return ranks * chunks_per_rank; }
  int rank_of(int chunk) const;
  /// The v-th chunk of a rank in layer order.
  int chunk_of(int rank, int v) const;
  TaskSeconds seconds_of(int chunk) const { return seconds.empty() ? TaskSeconds{} : seconds[chunk]; }
  /// Between chunk and chunk + 1, one way.
  double latency_after(int chunk) const;
  /// F, B and W of one micro-batch over all chunks of a rank.
  double rank_seconds(int rank) const;
};

/// Throws `Error` (exit code 2) where a shape contradicts itself.
void check_shape(const PipelineShape& shape);

}  // namespace pptrain
