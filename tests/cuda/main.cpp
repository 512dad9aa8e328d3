#ifndef PPTRAIN_CATCH2_V3
#define CATCH_CONFIG_RUNNER
#endif
#include <mpi.h>
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <iostream>

#include "cuda/presence.hpp"
#include "support/catch.hpp"

/// The tests of src/cuda; 77, for "skipped", where there is no GPU.
int main(int argc, char** argv) {
  if (pptrain::num_gpus() == 0) {
    std::cout << "skipped: " << pptrain::why_no_gpu() << "\n";
    return 77;
  }
  MPI_Init(&argc, &argv);
  omp_set_num_threads(1);
  int failed = 0;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    failed = Catch::Session().run(argc, argv);
  }
  // A failed rank may have left others in the middle of a collective.
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, failed);
  MPI_Finalize();
  return 0;
}
