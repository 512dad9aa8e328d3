// NCCL's groups, a GPU for each rank, against sums by hand.
#include "cuda/nccl.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "comm/mpi.hpp"
#include "cuda/device.hpp"
#include "cuda/hardware.hpp"
#include "runtime/execute/gradient_reduction.hpp"
#include "support/catch.hpp"
#include "support/device_values.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

std::vector<float> contribution(int rank, std::size_t n) {
  std::vector<float> values(n);
  CounterRandom(rank, "nccl").fill_normal(0, n, values.data());
  return values;
}

std::vector<float> sum_of_all(int first, int ranks, std::size_t n) {
  std::vector<float> sum(n, 0.0F);
  for (int r = 0; r < ranks; ++r) {
    const std::vector<float> values = contribution(first + r, n);
    for (std::size_t i = 0; i < n; ++i) sum[i] += values[i];
  }
  return sum;
}

/// Whether sums of a few values of the size of 1 are the same but for the order of their terms,
/// which is NCCL's own.
bool are_near(const std::vector<float>& sums, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(sums.at(i) - expected[i]) <= 1e-5F)) return false;
  }
  return sums.size() == expected.size();
}

struct World {
  int rank = rank_in(MPI_COMM_WORLD);
  int size = size_of(MPI_COMM_WORLD);
  Waiter waiter{600.0, CoreUse::shared};
  CudaDevice device{gpu_of_rank(Gpus::own)};
  Arena arena{0, {}, device};
  Arena host_arena;
  std::unique_ptr<DirectGroups> groups = make_nccl_groups(device);
  int next_tag = 1;

  World() {
    waiter.move_beside([this] { groups->progress(); });
  }
  std::unique_ptr<Communicator> group() {
    std::vector<int> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    auto host = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, members, next_tag++, "test",
                                                  host_arena, waiter);
    return groups->make(std::move(host), "the test", waiter);
  }
  void wait(Pending& pending) {
    waiter.wait(pending, [] { return std::string("test"); });
  }
};

/// Waits for the end of a transfer, not only to be ordered behind it.
class Ended final : public Pending {
 public:
  explicit Ended(Pending& transfer) : transfer_(transfer) {}
  bool test() override { return transfer_.test(); }
  std::string missing() const override { return transfer_.missing(); }

 private:
  Pending& transfer_;
};

}  // namespace

TEST_CASE("NCCL's sums and maxima are those of all members", "[np1][np2][np4][np8][own]") {
  World world;
  const auto group = world.group();
  for (const std::size_t n : {1U, 1000U, 70001U}) {
    const DeviceValues sum(world.arena, contribution(world.rank, n));
    group->all_reduce_sum(sum.data(), n);
    CHECK(are_near(sum.read(), sum_of_all(0, world.size, n)));
    const DeviceValues max(
        world.arena, std::vector<float>(n, static_cast<float>((world.rank + 1) % world.size)));
    group->all_reduce_max(max.data(), n);
    CHECK(max.read() == std::vector<float>(n, static_cast<float>(world.size - 1)));
  }
  double values[] = {1.0, static_cast<double>(world.rank)};
  group->all_reduce_sum(values, 2);
  CHECK(values[0] == world.size);
  CHECK(values[1] == world.size * (world.size - 1) / 2);
}

TEST_CASE("NCCL's halves move even and uneven slices, and nothing else",
          "[np1][np2][np4][np8][own]") {
  World world;
  const auto group = world.group();
  std::vector<Interval> even, uneven;  // with gaps, and empty ones
  for (std::int64_t r = 0; r < world.size; ++r) {
    even.push_back({64 * r, 64 * r + 64});
    uneven.push_back({64 * r + 3, 64 * r + 3 + 20 * (r % 3)});
  }
  const std::size_t n = 64 * static_cast<std::size_t>(world.size);
  for (const std::vector<Interval>& slices : {even, uneven}) {
    const Interval own = slices[static_cast<std::size_t>(world.rank)];
    const std::vector<float> before = contribution(world.rank, n);
    const std::vector<float> sum = sum_of_all(0, world.size, n);
    std::vector<float> scattered = before;
    std::copy(sum.begin() + own.begin, sum.begin() + own.end, scattered.begin() + own.begin);
    std::vector<float> gathered = scattered;
    for (const Interval& slice : slices) {
      std::copy(sum.begin() + slice.begin, sum.begin() + slice.end, gathered.begin() + slice.begin);
    }
    const DeviceValues values(world.arena, before);
    world.wait(*group->start_reduce_scatter_sum(values.data(), slices));
    CHECK(are_near(values.read(), scattered));
    group->all_gather(values.data(), slices);
    CHECK(are_near(values.read(), gathered));
  }
}

TEST_CASE("NCCL's sums of bf16 are formed in fp32, in the order of the members, and rounded once",
          "[np1][np2][np4][np8][own]") {
  World world;
  const auto group = world.group();
  const auto rounded = [](int rank, std::size_t n) {
    std::vector<BFloat16> values;
    for (const float value : contribution(rank, n)) values.emplace_back(value);
    return values;
  };
  for (const std::size_t n : {3U, 4096U, 5001U}) {
    std::vector<float> sum(n, 0.0F);
    for (int r = 0; r < world.size; ++r) {
      const std::vector<BFloat16> values = rounded(r, n);
      for (std::size_t i = 0; i < n; ++i) sum[i] += values[i];
    }
    const std::vector<BFloat16> own = rounded(world.rank, n);
    const Buffer buffer(world.arena, n * sizeof(BFloat16));
    world.device.upload(buffer.data(), own.data(), buffer.bytes());
    world.wait(*group->start_all_reduce_sum(static_cast<BFloat16*>(buffer.data()), n));
    std::vector<BFloat16> got(n);
    world.device.download(got.data(), buffer.data(), buffer.bytes());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += got[i].bits != BFloat16(sum[i]).bits ? 1U : 0U;
    CHECK(wrong == 0);
  }
}

TEST_CASE("sums of two groups go on at once, started in any order, while the host does not wait",
          "[np1][np2][np4][np8][own]") {
  World world;
  const auto a = world.group();
  const auto b = world.group();
  constexpr std::size_t n = 4000;
  constexpr int rounds = 4;
  std::vector<DeviceValues> arrays;
  std::vector<PendingPtr> pending;
  for (int i = 0; i < 2 * rounds; ++i)
    arrays.emplace_back(world.arena, contribution(100 * i + world.rank, n));
  for (int i = 0; i < 2 * rounds; ++i) {
    const int k = world.rank % 2 == 0 ? i : i ^ 1;  // group a's first, or b's
    Communicator& group = k % 2 == 0 ? *a : *b;
    pending.push_back(group.start_all_reduce_sum(arrays[static_cast<std::size_t>(k)].data(), n));
  }
  for (PendingPtr& sum : pending) world.wait(*sum);
  // What the device is told after a wait comes behind the sum, though that has not ended.
  for (int i = 0; i < 2 * rounds; ++i) {
    CHECK(are_near(arrays[static_cast<std::size_t>(i)].read(), sum_of_all(100 * i, world.size, n)));
  }
}

TEST_CASE("sums of gradients over NCCL are queued however many there are", "[np2][np4][own]") {
  World world;
  const auto group = world.group();
  CHECK(group->queues_collectives());
  constexpr std::size_t n = 3000;
  constexpr int layers = 6;
  std::vector<DeviceValues> gradients;
  for (int l = 0; l < layers; ++l)
    gradients.emplace_back(world.arena, contribution(100 * l + world.rank, n));
  GradientReduction reduction(*group);
  for (DeviceValues& gradient : gradients) reduction.add_all_reduce(gradient.data(), n);
  world.wait(reduction);
  for (int l = 0; l < layers; ++l) {
    const std::vector<float> sum = gradients[static_cast<std::size_t>(l)].read();
    CHECK(are_near(sum, sum_of_all(100 * l, world.size, n)));
  }
}

TEST_CASE("a sum that a member does not come to is named, and the group ended",
          "[np2][np4][np8][own]") {
  World world;
  Waiter impatient(0.3, CoreUse::shared);
  auto group = world.group();
  const DeviceValues values(world.arena, contribution(world.rank, 10));
  group->all_reduce_sum(values.data(), 10);  // the first one makes the connections, for which all
                                             // have to come
  if (world.rank != 1) {
    const PendingPtr sum = group->start_all_reduce_sum(values.data(), 10);
    while (!sum->join()) {
    }
    Ended ended(*sum);
    CHECK_THROWS_WITH(
        impatient.wait(ended, [] { return std::string("stage 0 at B0.0"); }),
        Catch::Contains("stage 0 at B0.0") && Catch::Contains("a sum of 10 elements in the test"));
    CHECK_THAT(world.groups->unfinished(), Catch::Contains("a sum of 10 elements in the test"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  // The member comes in the end, so that nothing outlives the test.
  if (world.rank == 1) world.wait(*group->start_all_reduce_sum(values.data(), 10));
  group.reset();
}
