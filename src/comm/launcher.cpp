#include "comm/launcher.hpp"

#include <cstdlib>

namespace pptrain {

std::optional<int> launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return std::nullopt;
}

bool launched_by_mpirun() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr; }

}  // namespace pptrain
