#include "comm/collective.hpp"

#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/mpi.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/simulated_time.hpp"

namespace pptrain {

TEST_CASE("texts of different lengths come together in the order of the ranks", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  const int rank = rank_in(MPI_COMM_WORLD);
  const std::vector<std::string> texts =
      gather(MPI_COMM_WORLD, std::string(3 * (rank % 3), static_cast<char>('a' + rank)), waiter);
  if (rank == 0) {
    CHECK(texts == std::vector<std::string>{"", "bbb", "cccccc", ""});
  } else {
    CHECK(texts.empty());
  }
  const std::vector<std::string> nothing = gather(MPI_COMM_WORLD, std::string(), waiter);
  CHECK(nothing == std::vector<std::string>(rank == 0 ? 4 : 0));
}

TEST_CASE("every rank has the text of rank 0", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  const bool first = rank_in(MPI_COMM_WORLD) == 0;
  CHECK(broadcast(MPI_COMM_WORLD, first ? "from rank 0" : "its own", waiter) == "from rank 0");
  CHECK(broadcast(MPI_COMM_WORLD, first ? "" : "its own", waiter).empty());
}

TEST_CASE("doubles come together in the order of the ranks", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  const int rank = rank_in(MPI_COMM_WORLD);
  const std::vector<double> all =
      gather(MPI_COMM_WORLD, std::vector<double>{rank + 0.5, -1.0 * rank}, waiter);
  if (rank == 0) {
    CHECK(all == std::vector<double>{0.5, 0.0, 1.5, -1.0, 2.5, -2.0, 3.5, -3.0});
  } else {
    CHECK(all.empty());
  }
}

TEST_CASE("doubles of all ranks come to all", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  const std::vector<double> own(rank_in(MPI_COMM_WORLD) % 2, rank_in(MPI_COMM_WORLD) + 0.1);
  CHECK(gather_to_all(MPI_COMM_WORLD, own, waiter) == std::vector<double>{1.1, 3.1});
}

TEST_CASE("a rank that does not come is named, and no other", "[np4]") {
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);  // keeps what is never received
  std::string complaint;
  test::SimulatedTime time(MPI_COMM_WORLD);
  if (const test::SimulatedTime::Section section(time); comm.rank() != 2) {
    Waiter waiter(comm.rank() == 0 ? 0.3 : 600.0, CoreUse::shared);
    try {
      gather(comm.get(), "text", waiter);
    } catch (const Error& error) {
      complaint = error.what();
    }
  }
  INFO(complaint);
  CHECK((complaint.find("for rank 2 (") != std::string::npos) == (comm.rank() == 0));
  CHECK(complaint.empty() == (comm.rank() != 0));
}

TEST_CASE("a rank that takes no part in a broadcast is named", "[np4]") {
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);  // keeps what is never received
  const std::string text(1 << 20, 'x');  // too long to leave before it is awaited
  std::string complaint;
  test::SimulatedTime time(MPI_COMM_WORLD);
  if (const test::SimulatedTime::Section section(time); comm.rank() != 2) {
    Waiter waiter(0.3, CoreUse::shared);
    try {
      broadcast(comm.get(), text, waiter);
    } catch (const Error& error) {
      complaint = error.what();
    }
  }
  INFO(complaint);
  // Rank 2 has the text from rank 0 and hands it on to rank 3; rank 1 has it from rank 0.
  const bool waits = comm.rank() == 0 || comm.rank() == 3;
  CHECK((complaint.find("for rank 2 (") != std::string::npos) == waits);
  CHECK(complaint.empty() == !waits);
}

TEST_CASE("ranks of any number have the text of rank 0", "[np8]") {
  for (int size = 1; size <= size_of(MPI_COMM_WORLD); ++size) {
    std::vector<int> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    if (rank_in(MPI_COMM_WORLD) >= size) continue;
    const MpiComm comm = MpiComm::group(MPI_COMM_WORLD, members, size);
    Waiter waiter(600.0, CoreUse::shared);
    const std::string text(100'000, static_cast<char>('a' + size));
    CHECK(broadcast(comm.get(), comm.rank() == 0 ? text : "its own", waiter) == text);
  }
}

TEST_CASE("what fails on one rank fails on all", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  const auto failing = [] {
    if (rank_in(MPI_COMM_WORLD) >= 2)
      throw Error(ExitCode::bad_input, "rank " + std::to_string(rank_in(MPI_COMM_WORLD)));
  };
  CHECK(complaint_of([&] { collectively(MPI_COMM_WORLD, waiter, failing); }) == "rank 2");
}

TEST_CASE("where the host gives one rank no memory all fail alike", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  const auto greedy = [] {
    if (rank_in(MPI_COMM_WORLD) == 3) throw std::bad_alloc();
  };
  const std::optional<Error> error =
      error_of([&] { collectively(MPI_COMM_WORLD, waiter, greedy); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ExitCode::runtime_failure);
  CHECK(std::string(error->what()).find("no memory") != std::string::npos);
}

}  // namespace pptrain
