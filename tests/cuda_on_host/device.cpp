#include <cstdio>
#include <cstring>

#include "stand_in.hpp"

namespace {
int num_devices = 2;
int current_device = 0;
}  // namespace

namespace cuda_on_host {
void set_num_devices(int devices) { num_devices = devices; }
}  // namespace cuda_on_host

cudaError_t cudaGetDeviceCount(int* count) {
  *count = num_devices == 0 ? -1 : num_devices;
  return num_devices == 0 ? cudaErrorInsufficientDriver : cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= num_devices) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= num_devices) return cudaErrorInvalidDevice;
  *properties = {};
  std::strcpy(properties->name, "stand-in");
  properties->multiProcessorCount = 4;
  properties->major = 9;
  properties->sharedMemPerBlock = std::size_t{48} << 10;
  properties->sharedMemPerBlockOptin = std::size_t{227} << 10;
  std::size_t unused = 0;
  return cudaMemGetInfo(&unused, &properties->totalGlobalMem);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
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
