#include "runtime/execute/gradient_reduction.hpp"

#include <numeric>

#include "base/random.hpp"
#include "comm/mpi_communicator.hpp"
#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("arrays of several buckets are summed whole or by slices alike", "[np4]") {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  Arena arena;
  Waiter waiter(600.0, CoreUse::shared);
  MpiCommunicator group(MPI_COMM_WORLD, all, 7, "test", arena, waiter);
  constexpr std::int64_t n = 2 * GradientReduction::bucket_elements + 12345;
  const std::vector<Interval> slices = {{0, n / 2}, {n / 2, n / 2}, {n / 2, n - 100}, {n - 100, n}};
  std::vector<float> whole(n);
  CounterRandom(rank, "gradients").fill_normal(0, whole.size(), whole.data());
  std::vector<float> sliced = whole;
  std::vector<float> short_one(10, static_cast<float>(rank));
  GradientReduction reduction(group);
  bool ended = false;
  reduction.add_all_reduce(whole.data(), whole.size());
  reduction.add_reduce_scatter(sliced.data(), slices, [&] { ended = true; });
  reduction.add_reduce_scatter(short_one.data(), {{0, 2}, {2, 4}, {4, 9}, {9, 10}});
  waiter.wait(reduction, [] { return "test"; });
  CHECK(ended);
  CHECK(reduction.num_open() == 0);
  const Interval own = slices[rank];
  CHECK(std::equal(whole.begin() + own.begin, whole.begin() + own.end, sliced.begin() + own.begin));
  const std::vector<std::size_t> own_begins = {0, 2, 4, 9};
  CHECK(short_one[own_begins[rank]] == 0.0F + 1.0F + 2.0F + 3.0F);
}
