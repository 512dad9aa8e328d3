#include "runtime/places/rank_device.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "cuda/presence.hpp"

namespace pptrain {

int gpu_of(int local_rank, int gpus) { return local_rank % gpus; }

std::string why_gpus_are_unused(const std::string& driver_file) {
  std::error_code ignored;
  return std::filesystem::exists(driver_file, ignored) ? why_no_gpu() : "";
}

namespace {

/// Says once that GPUs which are there are not used, as with a driver that is too old. Collective.
void log_unused_gpus(MPI_Comm world, Waiter& waiter, const std::string& why) {
  const std::vector<std::string> of_ranks = gather(world, why, waiter);  // on rank 0
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].empty()) continue;
    return log_warning(
        "rank {} computes with its host, though that has NVIDIA's driver: {} (device = \"host\" "
        "says so "
        "without this warning)",
        rank, of_ranks[rank]);
  }
}

}  // namespace

RankDevice::RankDevice(MPI_Comm world, Waiter& waiter, const Config& config) {
  const int rank = rank_in(world);
  const int local_rank = MpiComm::shared_memory(world).rank();
  int ordinal = 0;
  collectively(world, waiter, [&] {
    if (config.job.device == DeviceChoice::host) return;
    const int gpus = num_gpus();
    if (gpus > 0) {
      ordinal = gpu_of(local_rank, gpus);
      gpu_ = make_gpu_backend(ordinal);
      if (config.job.cuda_graphs) gpu_->use_graphs();
    } else if (config.job.device == DeviceChoice::gpu) {
      throw_bad_input({config.where("job.device"), fmt::format("rank {} has no GPU", rank),
                       why_no_gpu(), "use device = \"auto\" or \"host\""});
    }
  });
  const std::string own = gpu_ == nullptr ? "" : gpu_->backend().device.name();
  for (const std::string& of_rank : gather(world, own, waiter)) {
    names_ += (names_.empty() ? "" : ", ") + (of_rank.empty() ? std::string("host") : of_rank);
    on_gpu_ += of_rank.empty() ? '0' : '1';
  }
  if (config.job.device == DeviceChoice::any) log_unused_gpus(world, waiter, why_gpus_are_unused());
  names_ = broadcast(world, names_, waiter);
  on_gpu_ = broadcast(world, on_gpu_, waiter);
  if (names_.find("GPU") == std::string::npos) names_.clear();
  // From here on all contexts are there, so that what is free stays free.
  collectively(world, waiter, [&] {
    if (gpu_ == nullptr) return;
    DirectGroups* direct = config.job.gpu_transport == GpuTransport::mpi ? nullptr : gpu_->direct();
    probed_.emplace(ProbedGpu{report_gpu(ordinal), gpu_->backend().device, direct});
  });
  if (!config.job.cuda_graphs) return;
  if (!names_.empty()) names_ += ", CUDA graphs";
  if (rank == 0 && gpu_ == nullptr)
    log_info("cuda_graphs = true changes nothing: rank 0 computes with the host");
}

void RankDevice::log_graphs() const {
  const GraphCounts counts = gpu_ == nullptr ? GraphCounts() : gpu_->graph_counts();
  if (counts.calls == 0) return;
  log_info("{} launches of {} CUDA graphs made {:.1f} % of the {} calls to {}", counts.launches,
           counts.graphs,
           100.0 * static_cast<double>(counts.calls_in_graphs) / static_cast<double>(counts.calls),
           counts.calls, gpu_->backend().device.name());
}

}  // namespace pptrain
