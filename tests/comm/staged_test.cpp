// Collectives and messages of a device's memory by way of the host, on a device that works late,
// against plain ones.
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "comm/device_transport.hpp"
#include "comm/staged_communicator.hpp"
#include "support/catch.hpp"
#include "support/device_values.hpp"
#include "support/late_device.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

std::vector<float> contribution(int rank, std::size_t n) {
  std::vector<float> values(n);
  CounterRandom(rank, "staged").fill_normal(0, n, values.data());
  for (std::size_t i = 0; i < n; ++i)
    values[i] *= std::pow(10.0F, static_cast<float>(i % 7) - 3.0F);
  return values;
}

/// A rank with a device, and one that has its numbers in memory of the host.
struct World {
  int rank = rank_in(MPI_COMM_WORLD);
  int size = size_of(MPI_COMM_WORLD);
  Waiter waiter{600.0, CoreUse::shared};
  LateDevice device;
  Arena arena{0, {}, device};
  Staging staging{device};
  Arena host_arena;
  std::vector<int> members;
  std::unique_ptr<MpiCommunicator> plain;
  std::unique_ptr<StagedCommunicator> staged;

  World() : members(static_cast<std::size_t>(size)) {
    std::iota(members.begin(), members.end(), 0);
    plain =
        std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, members, 1, "plain", host_arena, waiter);
    auto host = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, members, 2, "staged",
                                                  staging.blocks(), waiter);
    staged = std::make_unique<StagedCommunicator>(std::move(host), staging, "staged", waiter);
    waiter.move_beside([this] { staging.progress(); });
  }
  void wait(Pending& pending) {
    waiter.wait(pending, [] { return std::string("test"); });
  }
};

}  // namespace

TEST_CASE("staged collectives give the bits of plain ones", "[np4]") {
  World world;
  for (const std::size_t n : {1U, 2048U, 2049U, 100003U}) {
    INFO(n << " elements");
    const std::vector<float> own = contribution(world.rank, n);
    std::vector<float> sum = own;
    std::vector<float> max = own;
    world.plain->all_reduce_sum(sum.data(), n);
    world.plain->all_reduce_max(max.data(), n);
    const DeviceValues device_sum(world.arena, own);
    const DeviceValues device_max(world.arena, own);
    world.staged->all_reduce_sum(device_sum.data(), n);
    world.staged->all_reduce_max(device_max.data(), n);
    CHECK(device_sum.read() == sum);
    CHECK(device_max.read() == max);
  }
}

TEST_CASE("staged halves move slices that lie apart, and nothing else", "[np4]") {
  World world;
  const std::vector<Interval> slices = {{0, 5}, {7, 7}, {100, 4000}, {4000, 4003}};
  const std::vector<float> own = contribution(world.rank, 4007);
  std::vector<float> scattered = own;
  world.wait(*world.plain->start_reduce_scatter_sum(scattered.data(), slices));
  std::vector<float> gathered = scattered;
  world.wait(*world.plain->start_all_gather(gathered.data(), slices));
  const DeviceValues values(world.arena, own);
  world.wait(*world.staged->start_reduce_scatter_sum(values.data(), slices));
  CHECK(values.read() == scattered);
  world.staged->all_gather(values.data(), slices);
  CHECK(values.read() == gathered);
}

TEST_CASE("staged sums under way at once are told apart, whichever is looked at first", "[np4]") {
  World world;
  constexpr int num_sums = 5;
  std::vector<DeviceValues> arrays;
  std::vector<std::vector<float>> expected;
  std::vector<PendingPtr> pending;
  for (int k = 0; k < num_sums; ++k) {
    std::vector<float> own = contribution(10 * k + world.rank, 3000);
    arrays.emplace_back(world.arena, own);
    world.plain->all_reduce_sum(own.data(), own.size());
    expected.push_back(std::move(own));
  }
  const int blocking = world.device.num_blocking();
  for (const DeviceValues& array : arrays)
    pending.push_back(world.staged->start_all_reduce_sum(array.data(), array.size()));
  for (int k = 0; k < num_sums; ++k)
    world.wait(*pending[static_cast<std::size_t>((k + world.rank) % num_sums)]);
  CHECK(world.device.num_blocking() == blocking);  // the host waited for peers alone
  for (int k = 0; k < num_sums; ++k)
    CHECK(arrays[static_cast<std::size_t>(k)].read() == expected[k]);
}

namespace {

template <class DevicesTransport>
void send_around() {
  World world;
  DevicesTransport transport(std::make_unique<MpiTransport>(MPI_COMM_WORLD), world.staging);
  MpiTransport plain(MPI_COMM_WORLD);
  const std::vector<float> own = contribution(world.rank, 70000);
  const DeviceValues out(world.arena, own);
  const DeviceValues in(world.arena, std::vector<float>(own.size(), 0.0F));
  const int next = (world.rank + 1) % world.size;
  const int previous = (world.rank + world.size - 1) % world.size;
  const PendingPtr sending =
      transport.send(RankId(next), 3, out.data(), own.size() * sizeof(float));
  const PendingPtr receiving =
      transport.receive(RankId(previous), 3, in.data(), own.size() * sizeof(float));
  world.device.fill(in.data(), 0xff, 0);
  // Waits for a message of the host that its peer sends when it has got the staged one.
  float token = 0.0F;
  const PendingPtr answer = plain.receive(RankId(next), 0, &token, sizeof(token));
  world.wait(*receiving);
  const float got = 1.0F;
  const PendingPtr answering = plain.send(RankId(previous), 0, &got, sizeof(got));
  world.wait(*answer);
  world.wait(*answering);
  world.wait(*sending);
  CHECK(token == 1.0F);
  CHECK(in.read() == contribution(previous, own.size()));
}

}  // namespace

TEST_CASE("what is to be sent leaves while its rank waits for others", "[np4]") {
  send_around<StagedTransport>();
  send_around<DeviceTransport>();
}

TEST_CASE(
    "MPI that takes a device's memory reads and writes it behind the work of the device, without a "
    "copy",
    "[np2]") {
  World world;
  DeviceTransport transport(std::make_unique<MpiTransport>(MPI_COMM_WORLD), world.staging);
  constexpr std::size_t n = 30000, bytes = n * sizeof(float);
  const std::vector<float> own = contribution(world.rank, n),
                           before = contribution(10 + world.rank, n);
  const DeviceValues out(world.arena, std::vector<float>(n, 0.0F)), source(world.arena, own);
  const DeviceValues in(world.arena, before), kept(world.arena, std::vector<float>(n, 0.0F));
  const RankId peer(1 - world.rank);
  // Late work: what is sent is formed, and what is overwritten is read, behind these calls.
  world.device.copy(out.data(), source.data(), bytes);
  world.device.copy(kept.data(), in.data(), bytes);
  const int blocking = world.device.num_blocking();
  const PendingPtr receiving = transport.receive(peer, 5, in.data(), bytes);
  const PendingPtr sending = transport.send(peer, 5, out.data(), bytes);
  CHECK(receiving->missing() == "the work of late device before a transfer");
  world.wait(*sending);
  world.wait(*receiving);
  CHECK(world.device.num_blocking() == blocking);
  CHECK(world.staging.blocks().peak_bytes() == 0);
  CHECK(in.read() == contribution(peer.value, n));
  CHECK(kept.read() == before);
}

TEST_CASE("a staged message to a rank that waits for something else does leave", "[np2]") {
  World world;
  StagedTransport transport(std::make_unique<MpiTransport>(MPI_COMM_WORLD), world.staging);
  const std::vector<float> own = contribution(world.rank, 1000);
  const DeviceValues values(world.arena, own);
  PendingPtr pending;
  if (world.rank == 0) {
    pending = transport.send(RankId(1), 4, values.data(), own.size() * sizeof(float));
  } else {
    pending = transport.receive(RankId(0), 4, values.data(), own.size() * sizeof(float));
    world.wait(*pending);
  }
  double sum = 1.0;  // rank 1 comes to this when it has the message
  world.staged->all_reduce_sum(&sum, 1);
  world.wait(*pending);
  CHECK(sum == 2.0);
  CHECK(values.read() == contribution(0, own.size()));
}

TEST_CASE("a staged sum names the member that has not come", "[np4]") {
  World world;
  const DeviceValues values(world.arena, contribution(world.rank, 3));
  PendingPtr sum;
  if (world.rank != 2) {
    sum = world.staged->start_all_reduce_sum(values.data(), 3);
    CHECK(sum->missing() == "the work of late device before a transfer");
    for (int i = 0; i < 2000; ++i) CHECK(!sum->test());
    MPI_Barrier(MPI_COMM_WORLD);
    while (sum->missing() != "an all-reduce with rank 2")
      REQUIRE(!sum->test());  // the others come when they come
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 2) sum = world.staged->start_all_reduce_sum(values.data(), 3);
  world.wait(*sum);
}

TEST_CASE("the block of a transfer that is given up is not handed out while the device reads it",
          "[np2]") {
  World world;
  const DeviceValues values(world.arena, contribution(0, 100));
  StagedTransport transport(std::make_unique<MpiTransport>(MPI_COMM_WORLD), world.staging);
  transport.send(RankId(1 - world.rank), 1, values.data(), 100 * sizeof(float)).reset();
  const std::size_t held = world.staging.blocks().bytes_in_use();
  CHECK(held > 0);
  for (int i = 0; i < 5; ++i) world.staging.progress();
  CHECK(world.staging.blocks().bytes_in_use() == 0);
}

TEST_CASE(
    "transfers are given up quietly where the device has failed, so that its error is what is told",
    "[np2]") {
  const auto use = [] {
    World world;
    const DeviceValues values(world.arena, contribution(0, 100));
    StagedTransport transport(std::make_unique<MpiTransport>(MPI_COMM_WORLD), world.staging);
    const PendingPtr sending =
        transport.send(RankId(1 - world.rank), 1, values.data(), 100 * sizeof(float));
    world.device.fail();
    world.wait(*sending);
  };
  CHECK_THROWS_WITH(use(), Catch::Contains("the device has failed"));
}
