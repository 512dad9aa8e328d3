#pragma once

#include <string>

namespace pptrain {

/// How two GPUs of a host reach each other, the fastest first.
enum class GpuLink {
  nvlink,
  pcie,          ///< below one PCIe switch, or with access to each other's memory
  through_host,  ///< through the host's processor or memory
  unknown,
  same_gpu,  ///< both are one; ranks that share it exchange by way of the host
};

/// "NVLink", "PCIe", "through the host", "unknown", "the same GPU".
std::string to_string(GpuLink link);

}  // namespace pptrain
