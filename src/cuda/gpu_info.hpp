#pragma once

#include <string>
#include <vector>

namespace pptrain {

/// What CUDA says of a GPU.
struct GpuInfo {
  std::string name;  ///< "NVIDIA H200"
  std::string uuid;  ///< "GPU-00112233-4455-6677-8899-aabbccddeeff": of the GPU, whatever number a
                     ///< process gives it
  std::string bus_id;         ///< on PCI, lower case: "0000:3b:00.0"
  double memory_bytes = 0.0;  ///< all that it has
  double free_bytes = 0.0;    ///< of these now, beside the contexts of all processes that use it
  int major = 0;              ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  double clock_hz = 0.0;          ///< of the multiprocessors, at most
  double memory_bandwidth = 0.0;  ///< bytes per second at most; 0: not known
};

/// How a GPU reaches the memory of another one.
enum class PeerAccess { none, over_pcie, over_nvlink };

/// A GPU that the process sees beside its own.
struct VisiblePeer {
  std::string bus_id;
  PeerAccess access = PeerAccess::none;
};

/// Describes the GPU of this number among those that the process sees; it is the thread's current
/// one.
GpuInfo gpu_info(int ordinal);

/// The GPUs that the process sees beside that of this number; none where the launcher shows each
/// rank its own.
std::vector<VisiblePeer> visible_peers(int ordinal);

}  // namespace pptrain
