#include <mpi.h>
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <iostream>
#include <sstream>

#include "support/run_tests.hpp"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  omp_set_num_threads(1);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Ranks other than 0 keep quiet unless something fails there.
  std::ostringstream quiet;
  std::streambuf* standard = rank == 0 ? nullptr : std::cout.rdbuf(quiet.rdbuf());
  int failed = 0;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    failed = pptrain::test::run_tests(argc, argv);
  }
  if (standard != nullptr) std::cout.rdbuf(standard);
  if (rank != 0 && failed != 0) std::cout << "rank " << rank << ":\n" << quiet.str() << std::flush;
  // A failed rank may have left others in the middle of a collective.
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, failed);
  MPI_Finalize();
  return 0;
}
