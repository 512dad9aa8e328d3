// The command line of pptrain: `pptrain --help`.
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/mpi.hpp"
#include "commands.hpp"
#include "runtime/checkpoint/stop_request.hpp"

namespace {

/// Rank that a launcher gave this process, before MPI is up; 0 without a launcher. Slurm's own
/// variables describe the launcher's step under mpirun, so they are not read.
int launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 0;
}

int run(const pptrain::Options& options, bool prints) {
  try {
    pptrain::run_command(options);
    return 0;
  } catch (const pptrain::Error& error) {
    if (error.code() == pptrain::ExitCode::stopped_early) {
      if (prints) pptrain::log_info("{}", error.what());
      return static_cast<int>(error.code());
    }
    // What is found out before anything is communicated is found out by every rank.
    const bool alone = error.thrown_by() == pptrain::ThrownBy::this_rank &&
                       (error.code() == pptrain::ExitCode::runtime_failure || error.code() == pptrain::ExitCode::other);
    if (prints || alone) pptrain::log_error("{}", error.what());
    if (alone && pptrain::needs_machine(options)) {
      // Aborting ends the others without a word, and they are about to say what they waited for.
      std::this_thread::sleep_for(std::chrono::seconds(2));
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    pptrain::log_error("{}", error.what());
    if (pptrain::needs_machine(options)) MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = launched_rank();
  pptrain::set_log_rank(rank, rank + 1);
  int exit_code = 0;
  const std::optional<pptrain::Options> options = pptrain::parse_options(argc, argv, rank == 0, exit_code);
  if (!options) return exit_code;
  omp_set_num_threads(1);
  if (!pptrain::needs_machine(*options)) return run(*options, rank == 0);
  if (options->command == pptrain::Command::train) pptrain::catch_stop_signals();
  const pptrain::MpiEnvironment mpi(&argc, &argv);
  const Kokkos::ScopeGuard kokkos;
  return run(*options, rank == 0);
}
