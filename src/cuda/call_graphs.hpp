#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cuda/compute_stream.hpp"
#include "cuda/work.hpp"

namespace pptrain::cuda {

/// Rows of calls that come again, as CUDA graphs: launching one costs the host as much as launching
/// a few kernels.
///
/// A row is told from others by a key that holds every value that its calls are made with, so a
/// graph never runs with a value of an earlier row. A row that comes for the second time is
/// captured, which runs nothing; whoever captures therefore finds modules loaded, algorithms chosen
/// and memory allocated by the first one. Where capturing fails, or rows do not come again, all
/// calls are made one by one from then on, and the log says why.
class CallGraphs {
 public:
  CallGraphs() = default;
  /// Nothing that was launched may go on.
  ~CallGraphs();
  CallGraphs(const CallGraphs&) = delete;
  CallGraphs& operator=(const CallGraphs&) = delete;

  /// Makes the calls in the stream's order.
  void run(cudaStream_t stream, const std::vector<StreamCall>& calls, const std::string& key);
  /// Why calls are made one by one from now on; "": they are not.
  const std::string& why_not() const { return why_not_; }
  /// Counts of all calls of `run` so far.
  const GraphCounts& counts() const { return counts_; }

 private:
  struct Graph {
    std::string key;
    cudaGraphExec_t executable;
    std::uint64_t last_row;  ///< that it ran
  };

  void launch(cudaStream_t stream, Graph& graph, std::size_t calls);
  /// Null where that fails.
  cudaGraphExec_t capture(cudaStream_t stream, const std::vector<StreamCall>& calls);
  cudaGraphExec_t instantiate(cudaGraph_t graph, std::string& why_not);
  bool has_room();
  void end_window();

  std::unordered_map<std::size_t, Graph> graphs_;  // by the key's hash
  std::unordered_set<std::size_t> seen_;           // hashes of keys that have come once
  std::uint64_t rows_ = 0;
  EventPool events_;
  std::unique_ptr<CudaWork> mark_;  // behind the row `marked_row_`
  std::uint64_t marked_row_ = 0;
  std::uint64_t rows_of_window_ = 0, repeated_in_window_ = 0;
  GraphCounts counts_;
  std::string why_not_;
};

}  // namespace pptrain::cuda
