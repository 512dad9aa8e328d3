#include "cuda/compute_stream.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "cuda/call_graphs.hpp"
#include "cuda/check.hpp"

namespace pptrain::cuda {

ComputeStream::ComputeStream() {
  PPTRAIN_CUDA(cudaStreamCreateWithFlags, &stream_, cudaStreamNonBlocking);
}

ComputeStream::~ComputeStream() {
  PPTRAIN_CUDA_OR_WARN(cudaStreamSynchronize, stream_);
  graphs_.reset();
  PPTRAIN_CUDA_OR_WARN(cudaStreamDestroy, stream_);
}

void ComputeStream::use_graphs() {
  if (graphs_ != nullptr) return;
  graphs_ = std::make_unique<CallGraphs>();
  collects_ = true;
}

GraphCounts ComputeStream::graph_counts() const {
  return graphs_ == nullptr ? GraphCounts() : graphs_->counts();
}

void ComputeStream::run_waiting() {
  const std::vector<StreamCall> calls = std::exchange(waiting_, {});
  const CallKey key = std::exchange(key_, {});
  waiting_.reserve(calls.size());
  graphs_->run(stream_, calls, key.text());
  collects_ = graphs_->why_not().empty();
}

void ComputeStream::flush_or_warn() noexcept {
  try {
    flush();
  } catch (const Error& error) {
    log_warning("{}", error.what());
  }
}

}  // namespace pptrain::cuda
