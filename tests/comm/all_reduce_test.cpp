#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "comm/collective.hpp"
#include "comm/mpi_communicator.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

struct World {
  int rank = 0;
  int size = 1;
  Arena arena;
  Waiter waiter{600.0, CoreUse::shared};
  std::unique_ptr<MpiCommunicator> group;

  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> all(size);
    std::iota(all.begin(), all.end(), 0);
    group = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, all, 7, "test", arena, waiter);
  }
};

/// What member `rank` contributes: values whose sum depends on the order of addition.
std::vector<float> contribution(int rank, std::size_t n) {
  std::vector<float> values(n);
  CounterRandom(rank, "all-reduce").fill_normal(0, n, values.data());
  for (std::size_t i = 0; i < n; ++i)
    values[i] *= std::pow(10.0F, static_cast<float>(i % 7) - 3.0F);
  return values;
}

void check_sum(std::size_t n) {
  World world;
  INFO(n << " elements on " << world.size << " ranks");
  std::vector<float> expected = contribution(0, n);
  for (int r = 1; r < world.size; ++r) {
    const std::vector<float> values = contribution(r, n);
    for (std::size_t i = 0; i < n; ++i) expected[i] += values[i];
  }
  std::vector<float> data = contribution(world.rank, n);
  world.group->all_reduce_sum(data.data(), n);
  CHECK(data == expected);  // bit for bit: the order is that of the members
}

void check_all() {
  for (const std::size_t n : {1U, 3U, 2048U, 2049U, 100003U}) check_sum(n);
}

}  // namespace

TEST_CASE("sums are formed in the order of the members on two ranks", "[np2]") { check_all(); }
TEST_CASE("sums are formed in the order of the members on four ranks", "[np4]") { check_all(); }
TEST_CASE("sums are formed in the order of the members on eight ranks", "[np8]") { check_all(); }

TEST_CASE("reduce-scatter and all-gather of uneven slices make an all-reduce", "[np4]") {
  World world;
  const std::vector<Interval> slices = {{0, 5}, {5, 5}, {5, 4000}, {4000, 4007}};
  std::vector<float> expected = contribution(world.rank, 4007);
  world.group->all_reduce_sum(expected.data(), expected.size());
  const std::vector<float> own = contribution(world.rank, 4007);
  std::vector<float> data = own;
  world.waiter.wait(*world.group->start_reduce_scatter_sum(data.data(), slices),
                    [] { return "test"; });
  for (std::int64_t i = 0; i < 4007; ++i) {
    CHECK(data[i] == (slices[world.rank].contains(i) ? expected[i] : own[i]));
  }
  world.waiter.wait(*world.group->start_all_gather(data.data(), slices), [] { return "test"; });
  CHECK(data == expected);
}

TEST_CASE("messages longer than MPI counts travel in pieces, in their order", "[np4]") {
  World world;
  std::vector<int> all(static_cast<std::size_t>(world.size));
  std::iota(all.begin(), all.end(), 0);
  for (const std::size_t most : {1U, 1000U, 4096U}) {
    INFO(most);
    MpiCommunicator in_pieces(MPI_COMM_WORLD, all, 8, "test", world.arena, world.waiter);
    in_pieces.set_most_bytes(most);
    const std::size_t n = most == 1 ? 3 : 5000;
    std::vector<float> expected = contribution(world.rank, n), sum = expected;
    world.group->all_reduce_sum(expected.data(), n);
    in_pieces.all_reduce_sum(sum.data(), n);
    CHECK(sum == expected);
    MpiTransport transport(MPI_COMM_WORLD, most);
    const RankId next((world.rank + 1) % world.size),
        previous((world.rank + world.size - 1) % world.size);
    const std::vector<float> own = contribution(world.rank, n),
                             other = contribution(10 + world.rank, n / 2);
    std::vector<float> first(n), empty, second(n / 2);
    std::vector<PendingPtr> pending;
    for (const std::vector<float>* from :
         {&own, static_cast<const std::vector<float>*>(&empty), &other}) {
      pending.push_back(transport.send(next, 2, from->data(), from->size() * sizeof(float)));
    }
    for (std::vector<float>* to : {&first, &empty, &second}) {
      pending.push_back(transport.receive(previous, 2, to->data(), to->size() * sizeof(float)));
    }
    for (const PendingPtr& message : pending) world.waiter.wait(*message, [] { return "test"; });
    CHECK(first == contribution(previous.value, n));
    CHECK(second == contribution(10 + previous.value, n / 2));
  }
}

TEST_CASE("bf16 is summed in fp32 in the order of the members and rounded once", "[np4]") {
  World world;
  for (const std::size_t n : {1U, 3U, 4096U, 4097U, 100003U}) {
    std::vector<BFloat16> expected(n), data(n);
    std::vector<float> sum(n, 0.0F);
    for (int r = 0; r < world.size; ++r) {
      const std::vector<float> values = contribution(r, n);
      for (std::size_t i = 0; i < n; ++i) sum[i] += static_cast<float>(BFloat16(values[i]));
      for (std::size_t i = 0; i < n && r == world.rank; ++i) data[i] = BFloat16(values[i]);
    }
    for (std::size_t i = 0; i < n; ++i) expected[i] = BFloat16(sum[i]);
    const auto same = [&expected](const std::vector<BFloat16>& found, std::int64_t i) {
      return found[static_cast<std::size_t>(i)].bits == expected[static_cast<std::size_t>(i)].bits;
    };
    std::vector<BFloat16> scattered = data;
    world.waiter.wait(*world.group->start_all_reduce_sum(data.data(), n), [] { return "test"; });
    const auto end = static_cast<std::int64_t>(n);
    const std::vector<Interval> slices = {
        {0, end / 3}, {end / 3, end / 3}, {end / 3, end / 2}, {end / 2, end}};
    world.waiter.wait(*world.group->start_reduce_scatter_sum(scattered.data(), slices),
                      [] { return "test"; });
    const Interval own = slices[static_cast<std::size_t>(world.rank)];
    int wrong = 0;
    for (std::int64_t i = own.begin; i < own.end; ++i) wrong += same(scattered, i) ? 0 : 1;
    world.waiter.wait(*world.group->start_all_gather(scattered.data(), slices),
                      [] { return "test"; });
    for (std::int64_t i = 0; i < end; ++i) wrong += same(data, i) && same(scattered, i) ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("several all-reduces may be under way at once", "[np4]") {
  World world;
  std::vector<std::vector<float>> data;
  std::vector<PendingPtr> pending;
  for (int k = 0; k < 5; ++k) data.emplace_back(10000 + k, static_cast<float>(world.rank + k));
  for (auto& values : data)
    pending.push_back(world.group->start_all_reduce_sum(values.data(), values.size()));
  for (auto& operation : pending) world.waiter.wait(*operation, [] { return std::string("test"); });
  for (int k = 0; k < 5; ++k)
    CHECK(data[k] == std::vector<float>(10000 + k, 6.0F + 4.0F * static_cast<float>(k)));
}

TEST_CASE("a NaN of one rank reaches all", "[np4]") {
  World world;
  std::vector<float> sum(5000, world.rank == 2 ? std::nanf("") : 1.0F);
  std::vector<float> max = sum;
  world.group->all_reduce_sum(sum.data(), sum.size());
  world.group->all_reduce_max(max.data(), max.size());
  CHECK(std::isnan(sum[4999]));
  CHECK(std::isnan(max[4999]));
}

TEST_CASE("members come in the order the group lists them", "[np4]") {
  Arena arena;
  Waiter waiter(600.0, CoreUse::shared);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const MpiCommunicator group(MPI_COMM_WORLD, {3, 1, 2, 0}, 9, "reversed", arena, waiter);
  const int expected[] = {3, 1, 2, 0};
  CHECK(group.rank() == expected[rank]);
}

TEST_CASE("an error of one rank is thrown on all with its message", "[np4]") {
  World world;
  try {
    collectively(MPI_COMM_WORLD, world.waiter, [&] {
      if (world.rank == 2) throw_bad_input({"file", "is missing", "", "make one"});
    });
    FAIL("no exception");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(std::string(error.what()) == "file: is missing; make one");
  }
}

TEST_CASE("a peer that does not come is named and does not hang the job", "[np2]") {
  World world;
  Waiter impatient(0.3, CoreUse::shared);
  MpiTransport transport(MPI_COMM_WORLD);
  if (world.rank == 0) {
    float value = 0.0F;
    const PendingPtr pending = transport.receive(RankId(1), 5, &value, sizeof(value));
    CHECK_THROWS_WITH(impatient.wait(*pending, [] { return std::string("stage 0 at F0.0"); }),
                      Catch::Contains("stage 0 at F0.0") && Catch::Contains("rank 1"));
    // The message is sent in the end, so that the request does not outlive the test.
    MPI_Barrier(MPI_COMM_WORLD);
    world.waiter.wait(*pending, [] { return std::string("test"); });
    CHECK(value == 4.0F);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    const float value = 4.0F;
    const PendingPtr pending = transport.send(RankId(0), 5, &value, sizeof(value));
    world.waiter.wait(*pending, [] { return std::string("test"); });
  }
}

TEST_CASE("a sum names the member that has not come, and no other", "[np4]") {
  World world;
  std::vector<float> data = contribution(world.rank, 3);
  PendingPtr sum;
  if (world.rank != 2) {
    sum = world.group->start_all_reduce_sum(data.data(), data.size());
    while (sum->missing() != "an all-reduce with rank 2")
      REQUIRE(!sum->test());  // the others come when they come
    for (int i = 0; i < 200; ++i) CHECK(!sum->test());
    CHECK(sum->missing() == "an all-reduce with rank 2");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 2) sum = world.group->start_all_reduce_sum(data.data(), data.size());
  world.waiter.wait(*sum, [] { return std::string(); });
}
