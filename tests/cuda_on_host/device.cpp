#include <cstdio>
#include <cstring>

#include "stand_in.hpp"

namespace {

std::vector<cuda_on_host::Gpu> gpus = {{}, {.bus = 2}};
int current_device = 0;
int peer_access = 1;
int peer_atomics = 0;

bool is_there(int device) { return device >= 0 && device < static_cast<int>(gpus.size()); }
const cuda_on_host::Gpu& gpu(int device) { return gpus[static_cast<std::size_t>(device)]; }

/// By compute capability: CUDA C++ Programming Guide, "Technical specifications per compute
/// capability".
std::size_t shared_of(const cuda_on_host::Gpu& gpu) {
  constexpr std::size_t kib = 1024;
  const int capability = 10 * gpu.major + gpu.minor;
  if (capability == 70) return 96 * kib;
  if (capability == 75) return 64 * kib;
  if (capability == 80 || capability == 87) return 163 * kib;
  if (capability == 90 || gpu.major == 10) return 227 * kib;
  return 99 * kib;
}

}  // namespace

namespace cuda_on_host {

void set_gpus(std::vector<Gpu> there) { gpus = std::move(there); }

void set_num_devices(int devices) {
  gpus.clear();
  for (int i = 0; i < devices; ++i) gpus.push_back({.bus = i + 1});
}

std::size_t most_shared() { return shared_of(gpu(current_device)); }

void set_peer_access(int access, int atomics) {
  peer_access = access;
  peer_atomics = atomics;
}

}  // namespace cuda_on_host

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpus.empty() ? -1 : static_cast<int>(gpus.size());
  return gpus.empty() ? cudaErrorInsufficientDriver : cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!is_there(device)) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_there(device)) return cudaErrorInvalidDevice;
  *properties = {};
  std::strcpy(properties->name, gpu(device).name);
  properties->uuid.bytes[0] = static_cast<char>(0xab);
  properties->uuid.bytes[15] = static_cast<char>(gpu(device).bus);
  properties->multiProcessorCount = gpu(device).multiprocessors;
  properties->major = gpu(device).major;
  properties->minor = gpu(device).minor;
  properties->sharedMemPerBlock = std::size_t{48} << 10;
  properties->sharedMemPerBlockOptin = shared_of(gpu(device));
  std::size_t unused = 0;
  return cudaMemGetInfo(&unused, &properties->totalGlobalMem);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!is_there(device)) return cudaErrorInvalidDevice;
  switch (attribute) {
    case cudaDevAttrClockRate: *value = gpu(device).clock_khz; return cudaSuccess;
    case cudaDevAttrMemoryClockRate: *value = gpu(device).memory_clock_khz; return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth: *value = gpu(device).memory_bus_bits; return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  if (!is_there(from) || !is_there(to) || from == to) return cudaErrorInvalidDevice;
  *value = attribute == cudaDevP2PAttrAccessSupported ? peer_access : peer_atomics;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_there(device)) return cudaErrorInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", gpu(device).bus);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// Errors are returned by the call that they belong to and left nowhere.
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
    default: return "an error of the stand-in";
  }
}

const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
