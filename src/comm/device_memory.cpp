#include "comm/device_memory.hpp"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <fmt/format.h>

namespace pptrain {

MpiDeviceMemory mpi_device_memory() {
#if defined(OMPI_HAVE_MPI_EXT_CUDA) && OMPI_HAVE_MPI_EXT_CUDA
  const int answer = MPIX_Query_cuda_support();
  return {answer == 1 ? MessagePath::direct : MessagePath::by_host,
          fmt::format("MPIX_Query_cuda_support() is {}", answer)};
#else
  return {MessagePath::by_host, "this MPI does not say whether it takes memory of GPUs"};
#endif
}

}  // namespace pptrain
