#include <utility>

#include "stand_in.hpp"

using namespace cuda_on_host;

using Works = std::vector<std::function<bool()>>;

struct StandInGraph {
  Works works;
};

struct StandInGraphExec {
  Works works;
  cudaEvent_t launched = nullptr;  // the last time; null: never
};

namespace {

struct Capture {
  cudaStream_t stream = nullptr;  // null: nothing is captured
  Works works;
  bool is_broken = false;
} capture;

std::uint64_t launches = 0;

}  // namespace

namespace cuda_on_host {

std::uint64_t num_graph_launches() { return launches; }

bool is_captured(cudaStream_t stream) { return capture.stream == stream; }

void capture_work(std::function<bool()> work) { capture.works.push_back(std::move(work)); }

bool breaks_capture() {
  if (capture.stream == nullptr) return false;
  capture.is_broken = true;
  return true;
}

}  // namespace cuda_on_host

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (stream == nullptr) fault("cudaStreamBeginCapture on the default stream");
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  // Whatever MPI's or NCCL's threads call meanwhile would break a capture in the global mode.
  if (mode != cudaStreamCaptureModeThreadLocal) fault("a capture that other threads break");
  capture = {stream, {}, false};
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!is_captured(stream)) return cudaErrorInvalidValue;
  const Capture ended = std::exchange(capture, {});
  if (ended.is_broken) return cudaErrorStreamCaptureInvalidated;
  *graph = new StandInGraph{ended.works};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
  *executable = new StandInGraphExec{graph->works};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  ++launches;
  for (const std::function<bool()>& work : executable->works) {
    if (const cudaError_t status = enqueue_waiting(stream, work); status != cudaSuccess)
      return status;
  }
  if (executable->launched == nullptr) {
    if (const cudaError_t status =
            cudaEventCreateWithFlags(&executable->launched, cudaEventDisableTiming);
        status != cudaSuccess) {
      return status;
    }
  }
  return cudaEventRecord(executable->launched, stream);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  if (executable->launched != nullptr) {
    if (cudaEventQuery(executable->launched) != cudaSuccess)
      fault("a graph is destroyed while it runs");
    if (const cudaError_t status = cudaEventDestroy(executable->launched); status != cudaSuccess)
      return status;
  }
  delete executable;
  return cudaSuccess;
}
