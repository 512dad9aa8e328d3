#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda/gpu_info.hpp"

namespace pptrain {

/// A rank's GPU, and what the rank sees of the others.
struct GpuReport {
  GpuInfo info;
  std::optional<int> numa_node;
  std::optional<double> numa_distance;  ///< from where the rank runs; 10: it runs there (PciTree)
  std::vector<VisiblePeer> peers;
};

/// Reports on the GPU of this number among those that the process sees; it is the thread's current
/// one.
GpuReport report_gpu(int ordinal);

std::string to_json(const GpuReport& report);
GpuReport gpu_report_from_json(const std::string& text);

}  // namespace pptrain
