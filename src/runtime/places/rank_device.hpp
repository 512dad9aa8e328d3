#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "comm/direct_groups.hpp"
#include "comm/waiter.hpp"
#include "config/config.hpp"
#include "cuda/backend.hpp"
#include "kernels/backend.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// The GPU of the `local_rank`-th rank of a host that sees `gpus` of them: launchers either give
/// each rank its own, then it sees one, or let all ranks see all, which then take turns.
int gpu_of(int local_rank, int gpus);

/// Why this rank, on a host with NVIDIA's driver, sees no GPU; "" where it sees one, or there is no
/// driver. `driver_file`: exists where the driver is loaded.
std::string why_gpus_are_unused(const std::string& driver_file = "/proc/driver/nvidia/version");

/// What this rank computes with, as `[job] device` says: the host or a GPU.
class RankDevice {
 public:
  /// The host.
  RankDevice() = default;
  /// Throws exit code 2 on all ranks where one is to have a GPU and sees none, with the reason.
  /// Collective.
  RankDevice(MPI_Comm world, Waiter& waiter, const Config& config);

  /// Device and kernels that this rank computes with; those of a GPU live as long as this. For the
  /// host the calling thread flushes denormal numbers from now on.
  Backend backend() const { return gpu_ == nullptr ? host_backend() : gpu_->backend(); }
  /// What all ranks compute with, for the key of what is measured; "" where that is the host.
  const std::string& names() const { return names_; }
  /// Says in the log how many of this rank's calls ran in CUDA graphs, where it uses them.
  void log_graphs() const;
  /// Whether a rank computes on the host; known on all ranks.
  bool is_host(RankId rank) const { return on_gpu_.empty() || on_gpu_[rank.index()] == '0'; }
  /// Null where there is nothing but MPI.
  DirectGroups* direct() const { return gpu_ == nullptr ? nullptr : gpu_->direct(); }
  /// What there is to know of the GPU; null where the rank computes with the host. Lives as long as
  /// this.
  const ProbedGpu* probed() const { return probed_ ? &*probed_ : nullptr; }

 private:
  std::unique_ptr<GpuBackend> gpu_;
  std::optional<ProbedGpu> probed_;
  std::string names_;
  std::string on_gpu_;  ///< of each rank '0' or '1'; empty: none is
};

}  // namespace pptrain
