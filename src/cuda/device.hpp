#pragma once

#include <cuda_runtime.h>

#include <deque>

#include "cuda/compute_stream.hpp"
#include "cuda/pinned_memory.hpp"
#include "cuda/ranges.hpp"
#include "cuda/work.hpp"
#include "tensor/arena.hpp"

namespace pptrain {

/// One GPU. Its order is that of the *compute stream*; downloads and fetches, which go on beside
/// it, have a stream each.
///
/// Memory comes from cudaMalloc and is cached by an `Arena`: unlike that of cudaMallocAsync it can
/// be registered with NCCL, a GPU-aware MPI and other processes, and a steady iteration allocates
/// none. One thread uses it, for which its GPU is the current one.
class CudaDevice final : public Device {
 public:
  /// The GPU of this number among those that the process sees; becomes the thread's current one.
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  /// Number of the GPU among those that the process sees.
  int ordinal() const { return ordinal_; }
  /// Bytes of shared memory that a block of threads may have.
  std::size_t shared_bytes() const { return shared_bytes_; }
  /// The compute stream, whose order is that of the device.
  cuda::ComputeStream& stream() { return compute_; }
  const cuda::ComputeStream& stream() const { return compute_; }
  /// What has been called on `stream`, one of this GPU's, so far.
  CudaWorkPtr record(cudaStream_t stream) { return std::make_unique<CudaWork>(events_, stream); }

  std::string name() const override { return name_; }
  void* allocate(std::size_t bytes) override;
  void free(void* block) override;
  Device& host_memory() override { return pinned_; }
  bool is_host() const override { return false; }

  void fill(void* block, unsigned char byte, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  /// Through pinned blocks, so that neither side waits for the other.
  void upload(void* to, const void* from, std::size_t bytes) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  /// Memory of the host that is not pinned has it when this returns.
  DeviceWorkPtr start_download(void* to, const void* from, std::size_t bytes) override;
  DeviceWorkPtr start_upload(void* to, const void* from, std::size_t bytes) override;
  /// Copies from memory of the host that is not pinned go as by `start_upload`.
  DeviceWorkPtr start_fetch(void* to, const void* from, std::size_t bytes) override;
  void follow(DeviceWork& work) override;
  DeviceWorkPtr work_so_far() override { return record(compute_.handle()); }
  DeviceMomentPtr moment() override {
    return std::make_unique<CudaMoment>(timed_events_, compute_.handle());
  }
  void synchronize() override;
  void begin_range(const std::string& name) override { ranges_.begin(name); }
  void end_range() override { ranges_.end(); }

 private:
  /// A pinned block that a copy is on its way from or to.
  struct Staged {
    Buffer block;
    CudaWorkPtr copied;
  };

  /// A pinned block; waits for the oldest upload where too much is on its way.
  Buffer staging_block(std::size_t bytes);
  Staged download_piece(const void* from, std::size_t bytes);

  int ordinal_;  // its GPU is the current one before what follows is made
  std::string name_;
  std::size_t shared_bytes_ = 0;
  cuda::ComputeStream compute_;
  cudaStream_t downloads_ = nullptr;
  cudaStream_t fetches_ = nullptr;
  EventPool events_;
  EventPool timed_events_{cudaEventDefault};
  ProfilerRanges ranges_;
  PinnedMemory pinned_;
  Arena staging_;
  std::deque<Staged> uploads_;  // the oldest first
  std::size_t upload_bytes_ = 0;
};

}  // namespace pptrain
