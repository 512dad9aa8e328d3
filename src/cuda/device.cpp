#include "cuda/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cuda/check.hpp"

namespace pptrain {
namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;         // of a copy through pinned memory
constexpr char fill_call = 0, copy_call = 0;                      // for their addresses
constexpr std::size_t most_upload_bytes = std::size_t{64} << 20;  // pinned, on their way

int made_current(int ordinal) {
  PPTRAIN_CUDA(cudaSetDevice, ordinal);
  return ordinal;
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  PPTRAIN_CUDA(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
  return stream;
}

bool is_pinned(const void* pointer) {
  cudaPointerAttributes attributes = {};
  PPTRAIN_CUDA(cudaPointerGetAttributes, &attributes, pointer);
  return attributes.type == cudaMemoryTypeHost;
}

char* bytes_from(void* block, std::size_t offset) { return static_cast<char*>(block) + offset; }
const char* bytes_from(const void* block, std::size_t offset) {
  return static_cast<const char*>(block) + offset;
}

}  // namespace

CudaDevice::CudaDevice(int ordinal) : ordinal_(made_current(ordinal)), staging_(0, "", pinned_) {
  cudaDeviceProp properties = {};
  PPTRAIN_CUDA(cudaGetDeviceProperties, &properties, ordinal);
  name_ = fmt::format("GPU {} ({})", ordinal, properties.name);
  shared_bytes_ = properties.sharedMemPerBlockOptin;
  downloads_ = new_stream();
  fetches_ = new_stream();
}

CudaDevice::~CudaDevice() {
  for (const cudaStream_t stream : {downloads_, fetches_}) {
    PPTRAIN_CUDA_OR_WARN(cudaStreamSynchronize, stream);
    PPTRAIN_CUDA_OR_WARN(cudaStreamDestroy, stream);
  }
}

void* CudaDevice::allocate(std::size_t bytes) {
  void* block = nullptr;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const cudaError_t status = cudaMalloc(&block, size);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // the arena deals with it
    return nullptr;
  }
  if (status != cudaSuccess)
    cuda::fail_call("cudaMalloc", "size", cuda::values_text(size), cuda::status_text(status));
  return block;
}

void CudaDevice::free(void* block) {
  compute_.flush_or_warn();  // what waits may use the block
  PPTRAIN_CUDA_OR_WARN(cudaFree, block);
}

void CudaDevice::fill(void* block, unsigned char byte, std::size_t bytes) {
  if (bytes == 0) return;
  const auto fill_now = [=](cudaStream_t stream) {
    PPTRAIN_CUDA(cudaMemsetAsync, block, byte, bytes, stream);
  };
  compute_.call(&fill_call, fill_now, block, byte, bytes);
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const auto copy_now = [=](cudaStream_t stream) {
    PPTRAIN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  };
  compute_.call(&copy_call, copy_now, to, from, bytes);
}

Buffer CudaDevice::staging_block(std::size_t bytes) {
  while (!uploads_.empty() &&
         (upload_bytes_ + bytes > most_upload_bytes || uploads_.front().copied->has_ended())) {
    uploads_.front().copied->wait();
    upload_bytes_ -= uploads_.front().block.bytes();
    uploads_.pop_front();
  }
  return {staging_, bytes};
}

void CudaDevice::upload(void* to, const void* from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(piece_bytes, bytes - done);
    Buffer block = staging_block(piece);
    std::memcpy(block.data(), bytes_from(from, done), piece);
    PPTRAIN_CUDA(cudaMemcpyAsync, bytes_from(to, done), block.data(), piece, cudaMemcpyHostToDevice,
                 compute_.handle());
    uploads_.push_back({std::move(block), record(compute_.handle())});
    upload_bytes_ += piece;
    done += piece;
  }
}

CudaDevice::Staged CudaDevice::download_piece(const void* from, std::size_t bytes) {
  Buffer block(staging_, bytes);
  PPTRAIN_CUDA(cudaMemcpyAsync, block.data(), from, bytes, cudaMemcpyDeviceToHost,
               compute_.handle());
  return {std::move(block), record(compute_.handle())};
}

void CudaDevice::download(void* to, const void* from, std::size_t bytes) {
  std::deque<Staged> pieces;  // one is copied on while the next is on its way
  for (std::size_t started = 0, done = 0; done < bytes;) {
    while (started < bytes && pieces.size() < 2) {
      const std::size_t piece = std::min(piece_bytes, bytes - started);
      pieces.push_back(download_piece(bytes_from(from, started), piece));
      started += piece;
    }
    Staged& piece = pieces.front();
    piece.copied->wait();
    std::memcpy(bytes_from(to, done), piece.block.data(), piece.block.bytes());
    done += piece.block.bytes();
    pieces.pop_front();
  }
}

DeviceWorkPtr CudaDevice::start_download(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return work_so_far();
  if (!is_pinned(to)) {
    download(to, from, bytes);
    return work_so_far();
  }
  record(compute_.handle())->precede(downloads_);
  PPTRAIN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToHost, downloads_);
  return record(downloads_);
}

DeviceWorkPtr CudaDevice::start_upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return work_so_far();
  if (is_pinned(from)) {
    PPTRAIN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyHostToDevice, compute_.handle());
  } else {
    upload(to, from, bytes);
  }
  return work_so_far();
}

DeviceWorkPtr CudaDevice::start_fetch(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || !is_pinned(from)) return start_upload(to, from, bytes);
  for (const cudaStream_t before : {compute_.handle(), downloads_})
    record(before)->precede(fetches_);
  PPTRAIN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyHostToDevice, fetches_);
  return record(fetches_);
}

void CudaDevice::follow(DeviceWork& work) {
  dynamic_cast<CudaWork&>(work).precede(compute_.handle());
}

void CudaDevice::synchronize() {
  for (const cudaStream_t stream : {compute_.handle(), downloads_, fetches_})
    PPTRAIN_CUDA(cudaStreamSynchronize, stream);
}

}  // namespace pptrain
