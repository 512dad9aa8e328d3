#include "runtime/execute/gradient_reduction.hpp"

#include <numeric>

#include "base/random.hpp"
#include "comm/mpi_communicator.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// What a group has been told to sum, as GPUs would: nothing ends before `has_ended` says so.
struct Started {
  std::vector<std::int64_t> elements;  ///< of each collective
  bool has_ended = false;
};

class Later final : public Pending {
 public:
  explicit Later(const Started& started) : started_(started) {}
  bool test() override { return started_.has_ended; }
  std::string missing() const override { return "the test"; }

 private:
  const Started& started_;
};

class LaterGroup final : public Communicator {
 public:
  LaterGroup(Started& started, bool queues) : started_(started), queues_(queues) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  PendingPtr start(Collective, void*, DType, const std::vector<Interval>& slices) override {
    std::int64_t elements = 0;
    for (const Interval& slice : slices) elements += slice.size();
    started_.elements.push_back(elements);
    return std::make_unique<Later>(started_);
  }
  void run(Collective, float*, const std::vector<Interval>&) override {}
  void sum_on_host(double*, std::size_t) override {}
  bool queues_collectives() const override { return queues_; }

 private:
  Started& started_;
  bool queues_;
};

constexpr auto bucket = static_cast<std::int64_t>(GradientReduction::bucket_elements);
constexpr auto queued = static_cast<std::int64_t>(GradientReduction::queued_elements);

}  // namespace

TEST_CASE("sums that keep no memory start as soon as they are added, others two at a time") {
  constexpr std::size_t layers = 12;
  for (const bool queues : {true, false}) {
    CAPTURE(queues);
    Started started;
    LaterGroup group(started, queues);
    GradientReduction reduction(group);
    std::vector<float> layer(2 * GradientReduction::bucket_elements);
    for (std::size_t l = 0; l < layers; ++l) reduction.add_all_reduce(layer.data(), layer.size());
    CHECK(started.elements.size() == (queues ? layers : GradientReduction::buckets_in_flight));
    CHECK(started.elements.front() == (queues ? 2 * bucket : bucket));
    CHECK(!reduction.test());
    started.has_ended = true;
    CHECK(reduction.test());
    CHECK(started.elements.size() == (queues ? layers : 2 * layers));
  }
}

TEST_CASE("queued buckets are long, but those whose end frees memory are short and two at a time") {
  Started started;
  LaterGroup group(started, true);
  GradientReduction reduction(group);
  std::vector<float> array(static_cast<std::size_t>(queued + bucket));
  const std::vector<Interval> halves = {{0, queued / 2}, {queued / 2, queued}};
  reduction.add_all_reduce(array.data(), array.size());
  CHECK(started.elements == std::vector<std::int64_t>{queued, bucket});
  int ended = 0;
  reduction.add_reduce_scatter(array.data(), halves, [&] { ++ended; });
  reduction.add_all_reduce(array.data(), 10);  // behind them
  CHECK(started.elements.size() == 2 + GradientReduction::buckets_in_flight);
  CHECK(started.elements.back() <= bucket + 32);
  CHECK(reduction.num_open() == 1);
  started.has_ended = true;
  CHECK(reduction.test());
  CHECK(ended == 1);
  CHECK(reduction.num_open() == 0);
  CHECK(started.elements.back() == 10);
}

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
