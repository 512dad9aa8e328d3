#include "comm/collective.hpp"

#include "base/error.hpp"
#include "comm/mpi.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {

TEST_CASE("texts of different lengths come together in the order of the ranks", "[np4]") {
  const int rank = rank_in(MPI_COMM_WORLD);
  const std::vector<std::string> texts =
      gather(MPI_COMM_WORLD, std::string(3 * (rank % 3), static_cast<char>('a' + rank)));
  if (rank == 0) {
    CHECK(texts == std::vector<std::string>{"", "bbb", "cccccc", ""});
  } else {
    CHECK(texts.empty());
  }
  const std::vector<std::string> nothing = gather(MPI_COMM_WORLD, "");
  CHECK(nothing == std::vector<std::string>(rank == 0 ? 4 : 0));
}

TEST_CASE("every rank has the text of rank 0", "[np4]") {
  Waiter waiter(30.0, CoreUse::shared);
  const bool first = rank_in(MPI_COMM_WORLD) == 0;
  CHECK(broadcast(MPI_COMM_WORLD, first ? "from rank 0" : "its own", waiter) == "from rank 0");
  CHECK(broadcast(MPI_COMM_WORLD, first ? "" : "its own", waiter).empty());
}

TEST_CASE("what fails on one rank fails on all", "[np4]") {
  Waiter waiter(30.0, CoreUse::shared);
  const auto failing = [] {
    if (rank_in(MPI_COMM_WORLD) >= 2)
      throw Error(ExitCode::bad_input, "rank " + std::to_string(rank_in(MPI_COMM_WORLD)));
  };
  CHECK(complaint_of([&] { collectively(MPI_COMM_WORLD, waiter, failing); }) == "rank 2");
}

}  // namespace pptrain
