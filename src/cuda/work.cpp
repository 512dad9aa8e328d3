#include "cuda/work.hpp"

#include "cuda/check.hpp"

namespace pptrain {

EventPool::~EventPool() {
  for (const cudaEvent_t event : free_) PPTRAIN_CUDA_OR_WARN(cudaEventDestroy, event);
}

cudaEvent_t EventPool::take() {
  cudaEvent_t event = nullptr;
  if (free_.empty()) {
    PPTRAIN_CUDA(cudaEventCreateWithFlags, &event, flags_);
  } else {
    event = free_.back();
    free_.pop_back();
  }
  return event;
}

CudaWork::CudaWork(EventPool& pool, cudaStream_t stream) : pool_(pool), event_(pool.take()) {
  PPTRAIN_CUDA(cudaEventRecord, event_, stream);
}

bool CudaWork::has_ended() {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  if (status != cudaSuccess)
    cuda::fail_call("cudaEventQuery", "event", "", cuda::status_text(status));
  return true;
}

void CudaWork::wait() { PPTRAIN_CUDA(cudaEventSynchronize, event_); }

void CudaWork::precede(cudaStream_t stream) const {
  PPTRAIN_CUDA(cudaStreamWaitEvent, stream, event_, 0U);
}

double CudaMoment::seconds_since(DeviceMoment& earlier) {
  CudaWork& start = dynamic_cast<CudaMoment&>(earlier).work_;
  start.wait();
  work_.wait();
  float milliseconds = 0.0F;
  PPTRAIN_CUDA(cudaEventElapsedTime, &milliseconds, start.event(), work_.event());
  return milliseconds * 1e-3;
}

}  // namespace pptrain
