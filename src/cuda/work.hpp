#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "tensor/device.hpp"

namespace pptrain {

/// CUDA events, used again and again: creating one costs microseconds.
class EventPool {
 public:
  explicit EventPool(unsigned flags = cudaEventDisableTiming) : flags_(flags) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// An event for one use, created where the pool has none left; `give_back` returns it.
  cudaEvent_t take();
  /// Keeps an event for the next `take`.
  void give_back(cudaEvent_t event) { free_.push_back(event); }

 private:
  unsigned flags_;
  std::vector<cudaEvent_t> free_;
};

/// What was called on a stream up to some moment: an event that is recorded there. The pool must
/// outlive it.
class CudaWork final : public DeviceWork {
 public:
  CudaWork(EventPool& pool, cudaStream_t stream);
  ~CudaWork() override { pool_.give_back(event_); }
  CudaWork(const CudaWork&) = delete;
  CudaWork& operator=(const CudaWork&) = delete;

  bool has_ended() override;
  /// Waits, on the host.
  void wait();
  /// Lets what is called on `stream` from now on come behind it.
  void precede(cudaStream_t stream) const;
  /// The recorded event, which goes back to the pool with this.
  cudaEvent_t event() const { return event_; }

 private:
  EventPool& pool_;
  cudaEvent_t event_;
};

using CudaWorkPtr = std::unique_ptr<CudaWork>;

/// What was called on a stream up to some moment, with the time by the GPU's clock. The pool must
/// outlive it, and its events must keep the time.
class CudaMoment final : public DeviceMoment {
 public:
  CudaMoment(EventPool& pool, cudaStream_t stream) : work_(pool, stream) {}

  bool has_ended() override { return work_.has_ended(); }
  double seconds_since(DeviceMoment& earlier) override;

 private:
  CudaWork work_;
};

}  // namespace pptrain
