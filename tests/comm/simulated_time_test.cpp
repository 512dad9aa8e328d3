// The time that other tests simulate.
#include "support/simulated_time.hpp"

#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

TEST_CASE("simulated time passes while all ranks sleep, and no faster than the first is due",
          "[np4]") {
  SimulatedTime time(MPI_COMM_WORLD);
  if (!time.is_simulated()) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 3; ++round) {
    const SimulatedTime::Section section(time);
    const double start = wall_seconds();
    const double cpu_start = thread_cpu_seconds();
    while (thread_cpu_seconds() - cpu_start < 1e-3 * rank) {  // work takes no time
    }
    CHECK(wall_seconds() == start);
    // Rank 0 sleeps 1000 times as long as rank 3 does at a time.
    const double nap = rank == 0 ? 1000.0 : 1.0;
    for (int i = 0; i < 1000 / static_cast<int>(nap); ++i) {
      sleep_until(wall_seconds() + nap);
      CHECK(wall_seconds() == Approx(start + nap * (i + 1)).margin(1e-6));
    }
    if (rank == 1) sleep_until(wall_seconds() + 500.0);  // alone: the others have left
    CHECK(wall_seconds() == Approx(start + (rank == 1 ? 1500.0 : 1000.0)).margin(1e-6));
  }
}
