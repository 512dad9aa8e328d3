#include "cuda/gpu_info.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cuda/check.hpp"
#include "cuda/presence.hpp"

namespace pptrain {
namespace {

/// 0 where the driver does not tell.
double attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, ordinal) != cudaSuccess) {
    (void)cudaGetLastError();  // an ordinary answer
    return 0.0;
  }
  return value;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string bus_id_of(int ordinal) {
  char text[32] = {};
  PPTRAIN_CUDA(cudaDeviceGetPCIBusId, text, static_cast<int>(sizeof(text)), ordinal);
  std::string id = text;
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id;
}

int peer_attribute(cudaDeviceP2PAttr which, int from, int to) {
  int value = 0;
  PPTRAIN_CUDA(cudaDeviceGetP2PAttribute, &value, which, from, to);
  return value;
}

/// Over NVLink GPUs also add to each other's memory atomically, over PCIe they do not (CUDA C++
/// Programming Guide, multi-device system, peer-to-peer attributes).
PeerAccess access_between(int from, int to) {
  if (peer_attribute(cudaDevP2PAttrAccessSupported, from, to) == 0) return PeerAccess::none;
  const bool atomics = peer_attribute(cudaDevP2PAttrNativeAtomicSupported, from, to) != 0;
  return atomics ? PeerAccess::over_nvlink : PeerAccess::over_pcie;
}

}  // namespace

GpuInfo gpu_info(int ordinal) {
  cudaDeviceProp properties = {};
  PPTRAIN_CUDA(cudaGetDeviceProperties, &properties, ordinal);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  PPTRAIN_CUDA(cudaMemGetInfo, &free_bytes, &total_bytes);
  GpuInfo info;
  info.name = properties.name;
  info.uuid = uuid_text(properties.uuid);
  info.bus_id = bus_id_of(ordinal);
  info.memory_bytes = static_cast<double>(total_bytes);
  info.free_bytes = static_cast<double>(free_bytes);
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.clock_hz = 1e3 * attribute(cudaDevAttrClockRate, ordinal);  // in kHz
  // Two transfers a clock, of a bus whose width is in bits.
  info.memory_bandwidth = 2.0 * 1e3 * attribute(cudaDevAttrMemoryClockRate, ordinal) *
                          attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal) / 8.0;
  return info;
}

std::vector<VisiblePeer> visible_peers(int ordinal) {
  std::vector<VisiblePeer> peers;
  for (int other = 0; other < num_gpus(); ++other) {
    if (other != ordinal) peers.push_back({bus_id_of(other), access_between(ordinal, other)});
  }
  return peers;
}

}  // namespace pptrain
