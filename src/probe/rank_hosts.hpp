#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "comm/direct_groups.hpp"
#include "comm/waiter.hpp"
#include "probe/gpu_report.hpp"
#include "probe/host.hpp"

namespace pptrain {

/// The GPU that this rank computes with.
struct ProbedGpu {
  GpuReport report;
  Device& device;
  DirectGroups* direct = nullptr;  ///< null where its groups use nothing but MPI
};

/// Where a rank runs.
struct RankHost {
  int leader = 0;  ///< lowest rank that it shares memory with
  HostReport host;
  std::optional<GpuReport> gpu = std::nullopt;  ///< that it computes with; nothing: with the host
  std::string direct = {};  ///< what reaches the GPU's memory without MPI; "": nothing

  /// Whether both compute with one GPU, whatever number it has for each.
  bool shares_gpu(const RankHost& other) const {
    return gpu && other.gpu && gpu->info.uuid == other.gpu->info.uuid;
  }
};

/// Tells all ranks where every rank runs. `own`: null where this rank computes with the host.
/// Collective over `world`.
std::vector<RankHost> find_rank_hosts(MPI_Comm world, Waiter& waiter,
                                      const ProbedGpu* own = nullptr);

}  // namespace pptrain
