// The command line of pptrain: `pptrain --help`.
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "comm/blocking_call.hpp"
#include "comm/launcher.hpp"
#include "comm/mpi.hpp"
#include "commands.hpp"
#include "planning.hpp"
#include "runtime/checkpoint/stop_request.hpp"
#include "runtime/places/load_config.hpp"
#include "same_arguments.hpp"

namespace {

/// The exit code of a rank whose error rank 0 tells, where no MPI_Finalize waits for rank 0: a
/// launcher ends the others as soon as one rank ends with a failure, rank 0 before it has spoken
/// too. The job's exit code is that of rank 0.
constexpr int left_to_rank_0 = 0;

int run(const pptrain::Options& options, int argc, char** argv, bool prints) {
  try {
    if (pptrain::needs_machine(options)) pptrain::check_same_arguments(argc, argv);
    pptrain::run_command(options);
    return 0;
  } catch (const pptrain::Interrupted& end) {
    pptrain::leave_interrupts();
    if (prints) pptrain::log_notice("{}", end.what());
    if (pptrain::launched_by_mpirun()) {
      // mpirun sleeps after its SIGTERM and answers no MPI_Finalize.
      if (!prints) pptrain::let_others_speak();
      std::_Exit(pptrain::interrupted_exit_code);
    }
    return pptrain::interrupted_exit_code;
  } catch (const pptrain::Error& error) {
    pptrain::leave_interrupts();
    if (error.code() == pptrain::ExitCode::stopped_early) {
      pptrain::ignore_stop_signals();
      if (prints) pptrain::log_info("{}", error.what());
      return static_cast<int>(error.code());
    }
    // What is found out before anything is communicated is found out by every rank.
    const bool alone = error.thrown_by() == pptrain::ThrownBy::this_rank &&
                       (error.code() == pptrain::ExitCode::runtime_failure ||
                        error.code() == pptrain::ExitCode::other);
    if (prints || alone) pptrain::log_error("{}", error.what());
    if (!prints && !alone && !pptrain::needs_machine(options)) return left_to_rank_0;
    if (alone && pptrain::needs_machine(options)) {
      // Aborting ends the others without a word, and they are about to say what they waited for.
      std::this_thread::sleep_for(std::chrono::seconds(2));
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    pptrain::leave_interrupts();
    pptrain::log_error(
        "the host gave no memory; use a smaller model or batch, or fewer ranks per host");
    if (pptrain::needs_machine(options))
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(pptrain::ExitCode::runtime_failure));
    return static_cast<int>(pptrain::ExitCode::runtime_failure);
  } catch (const std::exception& error) {
    pptrain::leave_interrupts();
    pptrain::log_error("{}", error.what());
    if (pptrain::needs_machine(options)) MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = pptrain::launched_rank().value_or(0);
  pptrain::set_log_rank(rank, rank + 1);
  int exit_code = 0;
  const std::optional<pptrain::Options> options =
      pptrain::parse_options(argc, argv, rank == 0, exit_code);
  if (!options) return rank == 0 ? exit_code : left_to_rank_0;
  omp_set_num_threads(1);
  if (!pptrain::needs_machine(*options)) return run(*options, argc, argv, rank == 0);
  const bool by_mpirun = pptrain::launched_by_mpirun();
  pptrain::catch_interrupts(
      rank == 0, by_mpirun ? pptrain::Terminate::interrupts : pptrain::Terminate::elsewhere);
  if (options->command == pptrain::Command::train) pptrain::catch_stop_signals(by_mpirun);
  const pptrain::BlockingTimeout longest(pptrain::timeout_of(pptrain::job_options(*options)));
  const pptrain::MpiEnvironment mpi(&argc, &argv);
  const Kokkos::ScopeGuard kokkos;
  return run(*options, argc, argv, rank == 0);
}
