#include "cuda/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cuda/check.hpp"

namespace pptrain {
namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;         // of a copy through pinned memory
constexpr std::size_t most_upload_bytes = std::size_t{64} << 20;  // pinned, on their way

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
const char* bytes_from(const void* block, std::size_t offset) { return static_cast<const char*>(block) + offset; }

}  // namespace

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal), staging_(0, "", pinned_) {
  PPTRAIN_CUDA(cudaSetDevice, ordinal);
  cudaDeviceProp properties = {};
  PPTRAIN_CUDA(cudaGetDeviceProperties, &properties, ordinal);
  name_ = fmt::format("GPU {} ({})", ordinal, properties.name);
  compute_ = new_stream();
  downloads_ = new_stream();
}

CudaDevice::~CudaDevice() {
  for (const cudaStream_t stream : {compute_, downloads_}) {
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
  if (status != cudaSuccess) cuda::fail_call("cudaMalloc", "size", cuda::values_text(size), cuda::status_text(status));
  return block;
}

void CudaDevice::free(void* block) { PPTRAIN_CUDA_OR_WARN(cudaFree, block); }

void CudaDevice::fill(void* block, unsigned char byte, std::size_t bytes) {
  if (bytes != 0) PPTRAIN_CUDA(cudaMemsetAsync, block, byte, bytes, compute_);
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) PPTRAIN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToDevice, compute_);
}

Buffer CudaDevice::staging_block(std::size_t bytes) {
  while (!uploads_.empty() && (upload_bytes_ + bytes > most_upload_bytes || uploads_.front().copied->has_ended())) {
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
    PPTRAIN_CUDA(cudaMemcpyAsync, bytes_from(to, done), block.data(), piece, cudaMemcpyHostToDevice, compute_);
    uploads_.push_back({std::move(block), record(compute_)});
    upload_bytes_ += piece;
    done += piece;
  }
}

CudaDevice::Staged CudaDevice::download_piece(const void* from, std::size_t bytes) {
  Buffer block(staging_, bytes);
  PPTRAIN_CUDA(cudaMemcpyAsync, block.data(), from, bytes, cudaMemcpyDeviceToHost, compute_);
  return {std::move(block), record(compute_)};
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
  record(compute_)->precede(downloads_);
  PPTRAIN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToHost, downloads_);
  return record(downloads_);
}

DeviceWorkPtr CudaDevice::start_upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return work_so_far();
  if (is_pinned(from)) {
    PPTRAIN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyHostToDevice, compute_);
  } else {
    upload(to, from, bytes);
  }
  return work_so_far();
}

void CudaDevice::synchronize() {
  for (const cudaStream_t stream : {compute_, downloads_}) PPTRAIN_CUDA(cudaStreamSynchronize, stream);
}

}  // namespace pptrain
