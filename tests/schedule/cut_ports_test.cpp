// Transfers that keep each other waiting, and all-reduces after the last W.
#include "schedule/cut_ports.hpp"

#include <random>

#include "schedule/list_schedule.hpp"
#include "schedule/orders.hpp"
#include "schedule/replay.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

PipelineShape line(int ranks, int micro_batches, const Cut& cut) {
  PipelineShape shape;
  shape.ranks = ranks;
  shape.micro_batches = micro_batches;
  shape.seconds.assign(ranks, {1.0, 1.0, 1.0});
  shape.cuts.assign(ranks - 1, cut);
  return shape;
}

/// Starts of a rank's tasks of one kind.
std::vector<double> starts_of(const Replay& replayed, const std::vector<TaskOrder>& orders,
                              int rank, TaskKind kind) {
  std::vector<double> starts;
  for (std::size_t i = 0; i < orders[rank].size(); ++i) {
    if (orders[rank][i].kind == kind) starts.push_back(replayed.starts[rank][i]);
  }
  return starts;
}

PipelineShape random_shape(std::mt19937& random) {
  PipelineShape shape;
  shape.ranks = 2 + static_cast<int>(random() % 4);
  shape.chunks_per_rank = 1 + static_cast<int>(random() % 3);
  if (shape.chunks_per_rank == 2 && random() % 2 == 0) shape.placement = ChunkPlacement::v_shape;
  shape.micro_batches = 1 + static_cast<int>(random() % 9);
  const auto seconds = [&] { return static_cast<double>(1 + random() % 20) / 4.0; };
  for (int c = 0; c < shape.num_chunks(); ++c) {
    shape.seconds.push_back({seconds(), seconds(), seconds()});
    shape.reduce_seconds.push_back(seconds());
  }
  for (int c = 1; c < shape.num_chunks(); ++c) {
    const double there = seconds();
    const double back = seconds();
    const double latency = seconds();
    shape.cuts.push_back({{there + latency, there},
                          {back + latency, back},
                          random() % 2 == 0 ? Cut::Port::own : Cut::Port::uplink});
  }
  for (int r = 0; r < shape.ranks; ++r) {
    shape.most_stored.push_back(shape.chunks_per_rank + static_cast<int>(random() % 8));
  }
  return shape;
}

}  // namespace

TEST_CASE("transfers between two ranks go one after another in each direction", "[cut-ports]") {
  // Each takes 3 s, of which it keeps its way for 2 s.
  const PipelineShape shape = line(2, 3, {{3.0, 2.0}, {3.0, 2.0}, Cut::Port::own});
  const std::vector<TaskOrder> orders = gpipe_orders(shape);
  const Replay replayed = *replay(shape, orders);
  CHECK(starts_of(replayed, orders, 1, TaskKind::forward) == std::vector<double>{4.0, 6.0, 8.0});
  // Backwards, which take 2 s, leave at 11, 13 and 15.
  CHECK(starts_of(replayed, orders, 0, TaskKind::backward) ==
        std::vector<double>{14.0, 16.0, 18.0});
  CHECK(replayed.makespan == 20.0);
}

TEST_CASE("between nodes all that a rank sends, and all that it receives, shares its uplink",
          "[cut-ports]") {
  for (const Cut::Port port : {Cut::Port::own, Cut::Port::uplink}) {
    const double waits = port == Cut::Port::uplink ? 1.0 : 0.0;
    const PipelineShape shape = line(3, 1, {{3.0, 2.0}, {5.0, 2.0}, port});
    CutPorts out(shape);  // rank 1 sends to 2, then to 0
    CHECK(out.send(out.forward(1), 0.0) == 3.0);
    CHECK(out.send(out.backward(0), 1.0) == 6.0 + waits);
    CutPorts in(shape);  // rank 1 receives from 0 and from 2
    CHECK(in.send(in.forward(0), 0.0) == 3.0);
    CHECK(in.send(in.backward(1), 1.0) == 6.0 + waits);
    CutPorts both(shape);  // each way is its own
    CHECK(both.send(both.forward(0), 0.0) == 3.0);
    CHECK(both.send(both.backward(0), 1.0) == 6.0);
  }
  const PipelineShape shape = line(3, 1, {{2.0, 2.0}, {2.0, 2.0}, Cut::Port::uplink});
  CHECK(replay(shape, gpipe_orders(shape))->makespan == 3 * 3.0 + 4 * 2.0);
}

TEST_CASE("all-reduces follow the last W of their chunk, one after another on a rank",
          "[cut-ports]") {
  PipelineShape shape = line(2, 2, 0.0);
  shape.reduce_seconds = {5.0, 1.0};
  CHECK(replay(shape, gpipe_orders(shape))->makespan == 3.0 * 3 + 5.0);
  shape.reduce_seconds = {0.0, 5.0};  // the last rank is through two seconds sooner
  CHECK(replay(shape, gpipe_orders(shape))->makespan == 7.0 + 5.0);
  PipelineShape chunked;
  chunked.chunks_per_rank = 2;
  chunked.reduce_seconds = {1.0, 4.0};  // 2 F, then B of chunk 1 until 4 and of chunk 0 until 6
  CHECK(replay(chunked, breadth_first_orders(chunked))->makespan == 4.0 + 4.0 + 1.0);
}

TEST_CASE("list scheduling knows what replay finds, and no order is below the bound",
          "[cut-ports]") {
  std::mt19937 random(5);
  for (int n = 0; n < 200; ++n) {
    const PipelineShape shape = random_shape(random);
    INFO("n " << n << " p " << shape.ranks << " V " << shape.chunks_per_rank << " m "
              << shape.micro_batches);
    const ListResult listed = list_schedule(shape, {1, 0.5, 0.0, ListPolicy::Chunks::deepest, {}});
    CHECK(replay(shape, listed.orders)->makespan == listed.makespan);
    CHECK(makespan_bound(shape) <= listed.makespan);
  }
}
