#include "comm/fail_together.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "support/catch.hpp"
#include "support/simulated_time.hpp"

namespace pptrain {
namespace {

/// Beyond what any test lasts: waits that end do so for another reason.
constexpr double timeout_seconds = 1e6;

/// What it throws where `failing` does `failure` while the others wait for it.
std::optional<Error> error_where(const std::vector<int>& failing,
                                 const std::function<void()>& failure) {
  Alarm alarm(MPI_COMM_WORLD);
  Waiter waiter(timeout_seconds, CoreUse::shared);
  waiter.listen(&alarm);
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);  // keeps what is never received
  const int rank = comm.rank();
  try {
    fail_together(alarm, timeout_seconds, [&] {
      if (std::find(failing.begin(), failing.end(), rank) != failing.end()) failure();
      quiet_barrier(comm.get(), waiter);
    });
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("what fails on one rank fails on all with its message, at once", "[np4]") {
  const auto failure = [] { throw_runtime_failure({"", "out of memory", "it has 1 MiB", ""}); };
  std::optional<Error> error = error_where({2}, failure);
  REQUIRE(error);
  CHECK(error->code() == ExitCode::runtime_failure);
  CHECK(error->thrown_by() == ThrownBy::all_ranks);
  CHECK(std::string(error->what()) == "rank 2: out of memory (it has 1 MiB)");

  error = error_where({1}, [] { throw std::bad_alloc(); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::runtime_failure);
  CHECK(std::string(error->what()).starts_with("rank 1: the host gave no memory"));

  error = error_where({0, 3}, [] { throw std::runtime_error("a library is at a loss"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::other);
  CHECK(std::string(error->what()) == "rank 0: a library is at a loss");
}

TEST_CASE("what ends well goes on, and what all throw is thrown as it is", "[np4]") {
  CHECK_FALSE(error_where({}, [] {}));
  const std::optional<Error> error = error_where({0, 1, 2, 3}, [] {
    throw Error(ExitCode::other, "the loss is no number", ThrownBy::all_ranks);
  });
  REQUIRE(error);
  CHECK(std::string(error->what()) == "the loss is no number");
}

TEST_CASE("where a rank stands still each of the others throws what it waited for", "[np4]") {
  Alarm alarm(MPI_COMM_WORLD);
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);
  const int rank = comm.rank();
  Waiter waiter(rank == 0 ? 0.3 : timeout_seconds, CoreUse::shared);
  waiter.listen(&alarm);
  std::optional<Error> error;
  test::SimulatedTime time(MPI_COMM_WORLD);
  {
    // Rank 0 has waited for long when the others have come and wait too.
    const test::SimulatedTime::Section section(time);
    if (rank != 2) {
      error = error_of([&] {
        fail_together(alarm, timeout_seconds, [&] { quiet_barrier(comm.get(), waiter); });
      });
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) return;
  REQUIRE(error);
  CHECK(error->thrown_by() == ThrownBy::this_rank);
  const std::string expected =
      rank == 0 ? "waited longer than 300 ms for rank 2" : "has given up waiting";
  CHECK_THAT(error->what(), Catch::Contains(expected));
}

}  // namespace pptrain
