#include "probe/gpu_link.hpp"

namespace pptrain {

std::string to_string(GpuLink link) {
  switch (link) {
    case GpuLink::nvlink: return "NVLink";
    case GpuLink::pcie: return "PCIe";
    case GpuLink::through_host: return "through the host";
    case GpuLink::unknown: return "unknown";
    case GpuLink::same_gpu: return "the same GPU";
  }
  return "unknown";
}

}  // namespace pptrain
