#include "comm/pulse.hpp"

#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Long enough that a busy machine takes no rank for one that stands still.
constexpr double timeout_seconds = 2.0;

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Waiter heeding_waiter(MPI_Comm comm) {
  std::shared_ptr<Pulse> pulse = Pulse::start(comm, timeout_seconds);
  REQUIRE(pulse != nullptr);
  Waiter waiter(timeout_seconds, CoreUse::shared);
  waiter.heed(std::move(pulse));
  return waiter;
}

}  // namespace

TEST_CASE("ranks wait for one that computes for longer than the timeout, whoever it is", "[np4]") {
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);
  Waiter waiter = heeding_waiter(comm.get());
  for (const int busy : {0, 2}) {
    int ended = 0;
    collectively(comm.get(), waiter, [&] {
      if (comm.rank() == busy) sleep_for(2.0 * timeout_seconds);
      ++ended;
    });
    CHECK(ended == 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("a rank that stands still is named by all others, rank 0 too", "[np4]") {
  for (const int still : {3, 0}) {
    INFO("rank " << still);
    const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);  // keeps what is never received
    Waiter waiter = heeding_waiter(comm.get());
    std::optional<Error> error;
    if (comm.rank() != still) error = error_of([&] { quiet_barrier(comm.get(), waiter); });
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm.rank() == still) continue;
    REQUIRE(error);
    CHECK(error->code() == ExitCode::runtime_failure);
    CHECK(error->thrown_by() == ThrownBy::this_rank);
    CHECK_THAT(error->what(),
               Catch::Contains(fmt::format("rank {} has not answered for 2 s", still)) &&
                   Catch::Contains(fmt::format("look at the process of rank {}", still)));
  }
}

TEST_CASE("where all ranks wait for each other nobody waits for ever", "[np2]") {
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);
  Waiter waiter = heeding_waiter(comm.get());
  // Each rank waits for a text of the other.
  const MpiComm crossed = MpiComm::group(MPI_COMM_WORLD, {1, 0}, 0);
  const std::optional<Error> error = error_of([&] {
    if (comm.rank() == 0) gather(comm.get(), std::string(), waiter);
    if (comm.rank() == 1) gather(crossed.get(), std::string(), waiter);
  });
  MPI_Barrier(MPI_COMM_WORLD);
  REQUIRE(error);
  CHECK(error->code() == ExitCode::runtime_failure);
  CHECK_THAT(error->what(), Catch::Contains("waited longer than 2 s for rank 1"));
}

TEST_CASE("a rank alone has no pulse", "[np1]") {
  CHECK(Pulse::start(MPI_COMM_SELF, timeout_seconds) == nullptr);
}

}  // namespace pptrain
