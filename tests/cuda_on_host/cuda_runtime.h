#pragma once

// The part of the CUDA runtime that src/cuda uses, on the host: a device for tests that is as unkind as a real one may
// be (see stand_in.hpp). Names and signatures are NVIDIA's.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#define CUDART_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static  // blocks run one after another
#define __launch_bounds__(...)
#define __grid_constant__

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// Of the thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
};
enum cudaMemoryType { cudaMemoryTypeUnregistered = 0, cudaMemoryTypeHost = 1, cudaMemoryTypeDevice = 2 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventBlockingSync = 1,
                   cudaEventDisableTiming = 2, cudaHostAllocDefault = 0, cudaHostAllocPortable = 1;

using cudaStream_t = struct StandInStream*;
using cudaEvent_t = struct StandInEvent*;
using cudaGraph_t = struct StandInGraph*;
using cudaGraphExec_t = struct StandInGraphExec*;
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};

enum cudaDeviceAttr {
  cudaDevAttrClockRate = 13,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
};
enum cudaDeviceP2PAttr { cudaDevP2PAttrAccessSupported = 2, cudaDevP2PAttrNativeAtomicSupported = 3 };
struct cudaUUID_t {
  char bytes[16];
};
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  std::size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin;
  int multiProcessorCount, major, minor;
  int pciBusID, pciDeviceID, pciDomainID;
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
struct cudaLaunchAttribute {};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

// A result that nobody looks at is a warning, which is an error in CI.
[[nodiscard]] cudaError_t cudaGetDeviceCount(int* count);
[[nodiscard]] cudaError_t cudaSetDevice(int device);
[[nodiscard]] cudaError_t cudaGetDevice(int* device);
[[nodiscard]] cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
[[nodiscard]] cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
[[nodiscard]] cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to);
[[nodiscard]] cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);
[[nodiscard]] cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
[[nodiscard]] cudaError_t cudaDriverGetVersion(int* version);
[[nodiscard]] cudaError_t cudaRuntimeGetVersion(int* version);
[[nodiscard]] cudaError_t cudaDeviceSynchronize();
[[nodiscard]] cudaError_t cudaGetLastError();
[[nodiscard]] cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

[[nodiscard]] cudaError_t cudaMalloc(void** block, std::size_t bytes);
[[nodiscard]] cudaError_t cudaFree(void* block);
[[nodiscard]] cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned flags);
[[nodiscard]] cudaError_t cudaFreeHost(void* block);
[[nodiscard]] cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
[[nodiscard]] cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                          cudaStream_t stream);
[[nodiscard]] cudaError_t cudaMemsetAsync(void* block, int value, std::size_t bytes, cudaStream_t stream);

[[nodiscard]] cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
[[nodiscard]] cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
[[nodiscard]] cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
[[nodiscard]] cudaError_t cudaStreamDestroy(cudaStream_t stream);
[[nodiscard]] cudaError_t cudaStreamSynchronize(cudaStream_t stream);
[[nodiscard]] cudaError_t cudaStreamQuery(cudaStream_t stream);
[[nodiscard]] cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
[[nodiscard]] cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* data);
[[nodiscard]] cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
[[nodiscard]] cudaError_t cudaEventDestroy(cudaEvent_t event);
[[nodiscard]] cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
[[nodiscard]] cudaError_t cudaEventQuery(cudaEvent_t event);
[[nodiscard]] cudaError_t cudaEventSynchronize(cudaEvent_t event);
[[nodiscard]] cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

[[nodiscard]] cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
[[nodiscard]] cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
[[nodiscard]] cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                        unsigned long long flags);
[[nodiscard]] cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
[[nodiscard]] cudaError_t cudaGraphDestroy(cudaGraph_t graph);
[[nodiscard]] cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

[[nodiscard]] cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
[[nodiscard]] cudaError_t cudaFuncGetName(const char** name, const void* kernel);
template <class... Parameters>
[[nodiscard]] cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

namespace cuda_on_host {
/// Puts `thread`, what every thread of the grid does, behind what is in the stream; `arguments` are the bytes of each.
cudaError_t enqueue_kernel(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread,
                           std::vector<std::string> arguments);

/// What a thread hands to the lanes of its warp in `mask`, and gets: the value of lane `source`.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source);
/// Bit l: what lane l of the mask says.
unsigned vote(unsigned mask, bool value);

template <class T>
T exchange_as(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
unsigned lane();
}  // namespace cuda_on_host

template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                                             Arguments&&... arguments) {
  const std::tuple<Parameters...> values(static_cast<Arguments&&>(arguments)...);
  std::vector<std::string> bytes;
  std::apply(
      [&](const Parameters&... value) {
        (bytes.emplace_back(reinterpret_cast<const char*>(&value), sizeof(value)), ...);
      },
      values);
  return cuda_on_host::enqueue_kernel(
      *config, reinterpret_cast<const void*>(kernel), [kernel, values] { std::apply(kernel, values); },
      std::move(bytes));
}

void __syncthreads();
void __syncwarp(unsigned mask = 0xffffffffU);
template <class T>
T __shfl_sync(unsigned mask, T value, int source) {
  return cuda_on_host::exchange_as(mask, value, static_cast<unsigned>(source) % 32);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return cuda_on_host::exchange_as(mask, value, cuda_on_host::lane() ^ static_cast<unsigned>(lanes));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes) {
  const unsigned from = cuda_on_host::lane() + lanes;
  return cuda_on_host::exchange_as(mask, value, from < 32 ? from : cuda_on_host::lane());
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes) {
  const unsigned here = cuda_on_host::lane();
  return cuda_on_host::exchange_as(mask, value, here >= lanes ? here - lanes : here);
}
inline unsigned __ballot_sync(unsigned mask, int value) { return cuda_on_host::vote(mask, value != 0); }
inline int __any_sync(unsigned mask, int value) { return __ballot_sync(mask, value) != 0; }
inline int __all_sync(unsigned mask, int value) { return __ballot_sync(mask, value) == mask; }
inline void __threadfence() {}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
template <class T>
T atomicAdd(T* place, T value) {
  const T before = *place;
  *place += value;
  return before;
}
template <class T>
T atomicMax(T* place, T value) {
  const T before = *place;
  if (value > before) *place = value;
  return before;
}
