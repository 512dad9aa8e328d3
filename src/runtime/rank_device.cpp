#include "runtime/rank_device.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "cuda/presence.hpp"

namespace pptrain {

int gpu_of(int local_rank, int gpus) { return local_rank % gpus; }

RankDevice::RankDevice(MPI_Comm world, Waiter& waiter, const Config& config) {
  const int rank = rank_in(world);
  const int local_rank = MpiComm::shared_memory(world).rank();
  collectively(world, waiter, [&] {
    if (config.job.device == "host") return;
    const int gpus = num_gpus();
    if (gpus > 0) {
      gpu_ = make_gpu_backend(gpu_of(local_rank, gpus));
    } else if (config.job.device == "gpu") {
      throw_bad_input({config.where("job.device"), fmt::format("rank {} has no GPU", rank), why_no_gpu(),
                       "use device = \"auto\" or \"host\""});
    }
  });
  const std::string own = gpu_ == nullptr ? "" : gpu_->backend().device.name();
  for (const std::string& of_rank : gather(world, own, waiter)) {
    names_ += (names_.empty() ? "" : ", ") + (of_rank.empty() ? std::string("host") : of_rank);
  }
  names_ = broadcast(world, names_, waiter);
  if (names_.find("GPU") == std::string::npos) names_.clear();
  if (rank == 0 && !names_.empty()) log_info("Ranks compute with: {}", names_);
}

}  // namespace pptrain
