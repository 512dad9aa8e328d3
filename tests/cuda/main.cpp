#include <cuda_runtime.h>
#include <mpi.h>
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "cuda/presence.hpp"
#include "support/run_tests.hpp"

namespace {

long number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

/// Why the tests cannot run here, or nothing: they need PPTRAIN_TEST_GPUS devices and
/// PPTRAIN_TEST_GIB of memory that is free on the first.
std::string why_skipped() {
  const int gpus = pptrain::num_gpus();
  if (gpus == 0) return pptrain::why_no_gpu();
  if (const long needed = number_in("PPTRAIN_TEST_GPUS"); gpus < needed) {
    return std::to_string(needed) + " GPUs are needed, " + std::to_string(gpus) + " are here";
  }
  const long needed = number_in("PPTRAIN_TEST_GIB");
  if (needed == 0) return "";
  std::size_t free = 0, total = 0;
  if (cudaSetDevice(0) != cudaSuccess || cudaMemGetInfo(&free, &total) != cudaSuccess)
    return "";  // the tests will say
  if (static_cast<long>(free >> 30) >= needed) return "";
  return std::to_string(needed) + " GiB of memory are needed, " + std::to_string(free >> 30) +
         " are free on GPU 0";
}

}  // namespace

/// The tests of src/cuda; 77, for "skipped", where they cannot run.
int main(int argc, char** argv) {
  if (const std::string why = why_skipped(); !why.empty()) {
    std::cout << "skipped: " << why << "\n";
    return 77;
  }
  MPI_Init(&argc, &argv);
  omp_set_num_threads(1);
  int failed = 0;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    failed = pptrain::test::run_tests(argc, argv);
  }
  // A failed rank may have left others in the middle of a collective.
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, failed);
  MPI_Finalize();
  return 0;
}
