#include "cuda/call_graphs.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "cuda/check.hpp"

namespace pptrain::cuda {
namespace {

/// What launching a graph costs, in launches of kernels.
constexpr std::size_t fewest_calls = 4;
/// Some hundred kilobytes of the GPU's memory each, at most.
constexpr std::size_t most_graphs = 512;
/// A graph that has not run in so many rows belongs to a plan of the past.
constexpr std::uint64_t rows_until_stale = 16 * most_graphs;
constexpr std::uint64_t rows_of_mark = rows_until_stale / 2;
/// More than an iteration has.
constexpr std::uint64_t rows_of_window = std::uint64_t{1} << 16;

void make(cudaStream_t stream, const std::vector<StreamCall>& calls) {
  for (const StreamCall& call : calls) call(stream);
}

}  // namespace

CallGraphs::~CallGraphs() {
  for (const auto& [hash, graph] : graphs_)
    PPTRAIN_CUDA_OR_WARN(cudaGraphExecDestroy, graph.executable);
}

void CallGraphs::run(cudaStream_t stream, const std::vector<StreamCall>& calls,
                     const std::string& key) {
  counts_.calls += calls.size();
  if (calls.size() < fewest_calls || !why_not_.empty()) return make(stream, calls);
  const std::size_t hash = std::hash<std::string>()(key);
  auto graph = graphs_.find(hash);
  const bool repeated = graph != graphs_.end() || seen_.erase(hash) > 0;
  ++rows_;
  ++rows_of_window_;
  repeated_in_window_ += repeated ? 1 : 0;
  if (!repeated) seen_.insert(hash);
  if (graph == graphs_.end() && repeated && has_room()) {
    if (const cudaGraphExec_t executable = capture(stream, calls); executable != nullptr) {
      graph = graphs_.emplace(hash, Graph{key, executable, rows_}).first;
    }
  }
  if (graph != graphs_.end() && graph->second.key == key) {
    launch(stream, graph->second, calls.size());
  } else {
    make(stream, calls);
  }
  if (rows_ % rows_of_mark == 0) {
    mark_ = std::make_unique<CudaWork>(events_, stream);
    marked_row_ = rows_;
  }
  if (rows_of_window_ == rows_of_window) end_window();
}

void CallGraphs::launch(cudaStream_t stream, Graph& graph, std::size_t calls) {
  PPTRAIN_CUDA(cudaGraphLaunch, graph.executable, stream);
  graph.last_row = rows_;
  ++counts_.launches;
  counts_.calls_in_graphs += calls;
}

cudaGraphExec_t CallGraphs::capture(cudaStream_t stream, const std::vector<StreamCall>& calls) {
  std::string why_not;
  PPTRAIN_CUDA(cudaStreamBeginCapture, stream, cudaStreamCaptureModeThreadLocal);
  try {
    make(stream, calls);
  } catch (const Error& error) {
    why_not = error.what();
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream, &graph);
  if (status != cudaSuccess && why_not.empty())
    why_not = "cudaStreamEndCapture: " + status_text(status);
  cudaGraphExec_t executable = why_not.empty() ? instantiate(graph, why_not) : nullptr;
  if (graph != nullptr) PPTRAIN_CUDA_OR_WARN(cudaGraphDestroy, graph);
  if (executable == nullptr) {
    (void)cudaGetLastError();  // the calls are made one by one
    why_not_ = why_not;
    log_warning("No more CUDA graphs are made: {}", why_not);
  }
  return executable;
}

cudaGraphExec_t CallGraphs::instantiate(cudaGraph_t graph, std::string& why_not) {
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiateWithFlags(&executable, graph, 0ULL);
  if (status != cudaSuccess) {
    why_not = "cudaGraphInstantiateWithFlags: " + status_text(status);
    return nullptr;
  }
  ++counts_.graphs;
  return executable;
}

/// Whether one more graph may be made; graphs that have ended make room. Waiting for one could wait
/// for other ranks.
bool CallGraphs::has_room() {
  if (graphs_.size() < most_graphs) return true;
  const std::uint64_t ended_row = mark_ != nullptr && mark_->has_ended() ? marked_row_ : 0;
  for (auto graph = graphs_.begin(); graph != graphs_.end();) {
    const bool is_stale =
        graph->second.last_row + rows_until_stale < rows_ && graph->second.last_row <= ended_row;
    if (is_stale) PPTRAIN_CUDA(cudaGraphExecDestroy, graph->second.executable);
    graph = is_stale ? graphs_.erase(graph) : std::next(graph);
  }
  return graphs_.size() < most_graphs;
}

void CallGraphs::end_window() {
  if (2 * repeated_in_window_ < rows_of_window_) {
    why_not_ = fmt::format("of {} rows of calls, only {} came again", rows_of_window_,
                           repeated_in_window_);
    log_info("No more CUDA graphs are launched: {}", why_not_);
  }
  rows_of_window_ = repeated_in_window_ = 0;
  seen_.clear();
}

}  // namespace pptrain::cuda
