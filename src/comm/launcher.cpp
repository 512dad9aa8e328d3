#include "comm/launcher.hpp"

#include <cstdlib>

namespace pptrain {

std::optional<int> launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return std::nullopt;
}

int num_launched_ranks() {
  if (!launched_rank()) return 1;
  // Slurm's own comes last: srun has started the ranks themselves where no other variable is there.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 1;
}

int num_ranks_of_host() {
  const char* value = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return value ? std::atoi(value) : num_launched_ranks();
}

bool launched_by_mpirun() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr; }

}  // namespace pptrain
