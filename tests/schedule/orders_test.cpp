#include "schedule/orders.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "schedule/records.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

PipelineShape shape_of(int ranks, int chunks, int micro_batches) {
  PipelineShape shape;
  shape.ranks = ranks;
  shape.chunks_per_rank = chunks;
  shape.micro_batches = micro_batches;
  shape.seconds.assign(static_cast<std::size_t>(ranks * chunks), {3.0, 5.0, 2.0});
  return shape;
}

/// A twin of `replay` that knows nothing of ranks waiting: ends grow from 0 until every task ends
/// where its predecessors, on its rank and elsewhere, let it. Returns the makespan, or -1 where the
/// ends never settle.
double plain_makespan(const PipelineShape& shape, const std::vector<TaskOrder>& orders) {
  std::map<std::tuple<bool, int, int>, double> ends;  // forward?, chunk, micro-batch
  double makespan = 0.0;
  std::size_t tasks = 0;
  for (const TaskOrder& order : orders) tasks += order.size();
  for (std::size_t round = 0; round <= tasks; ++round) {
    bool changed = false;
    makespan = 0.0;
    for (const TaskOrder& order : orders) {
      double now = 0.0;
      for (const Task& task : order) {
        const int c = task.chunk.value;
        const int i = task.micro_batch.value;
        const bool forward = task.kind == TaskKind::forward;
        if (forward && c > 0)
          now = std::max(now, ends[{true, c - 1, i}] + shape.cut_after(c - 1).forward.seconds);
        if (!forward) now = std::max(now, ends[{true, c, i}]);
        if (task.kind == TaskKind::backward_weight) now = std::max(now, ends[{false, c, i}]);
        if (!forward && task.kind != TaskKind::backward_weight && c + 1 < shape.num_chunks()) {
          now = std::max(now, ends[{false, c + 1, i}] + shape.cut_after(c).forward.seconds);
        }
        now += task_seconds(shape, task);
        if (task.kind != TaskKind::backward_weight && ends[{forward, c, i}] != now) {
          ends[{forward, c, i}] = now;
          changed = true;
        }
      }
      makespan = std::max(makespan, now);
    }
    if (!changed) return makespan;
  }
  return -1.0;
}

/// Every task of every chunk once on its rank: F, and B and W or both in one.
bool complete(const PipelineShape& shape, const std::vector<TaskOrder>& orders) {
  std::set<std::tuple<TaskKind, int, int>> seen;
  for (int r = 0; r < shape.ranks; ++r) {
    for (const Task& task : orders[static_cast<std::size_t>(r)]) {
      if (shape.rank_of(task.chunk.value) != r) return false;
      if (!seen.emplace(task.kind, task.chunk.value, task.micro_batch.value).second) return false;
    }
  }
  for (int c = 0; c < shape.num_chunks(); ++c) {
    for (int i = 0; i < shape.micro_batches; ++i) {
      const bool whole = seen.count({TaskKind::backward, c, i}) == 1;
      const bool split = seen.count({TaskKind::backward_input, c, i}) == 1;
      if (seen.count({TaskKind::forward, c, i}) != 1 || whole == split) return false;
      if (split != (seen.count({TaskKind::backward_weight, c, i}) == 1)) return false;
    }
  }
  return true;
}

double makespan_of(const std::string& schedule, const PipelineShape& shape) {
  const std::vector<TaskOrder> orders = orders_of(schedule, shape);
  REQUIRE(complete(shape, orders));
  const auto result = replay(shape, orders);
  REQUIRE(result);
  REQUIRE(result->makespan >= makespan_bound(shape) - 1e-9);
  return result->makespan;
}

/// The name of the schedule that a record is held against; "" for those that only the replay is
/// held to.
std::string generator_of(const ScheduleRecord& record) {
  static const std::map<std::string, std::string> names = {
      {"gpipe", "gpipe"},
      {"1f1b", "1f1b"},
      {"dapple_PB", "dapple-b"},
      {"interleaved_1f1b_megatron", "interleaved-1f1b"},
      {"looped_bfs", "breadth-first"}};
  const auto found = names.find(record.schedule);
  return found == names.end() ? "" : found->second;
}

}  // namespace

TEST_CASE("replay reproduces the makespan and peaks of every record", "[records]") {
  REQUIRE(schedule_records().size() == 353);
  for (const ScheduleRecord& record : schedule_records()) {
    INFO(record.name);
    REQUIRE(complete(record.shape, record.orders));
    const auto result = replay(record.shape, record.orders);
    REQUIRE(result);
    CHECK(result->makespan == record.makespan);
    CHECK(plain_makespan(record.shape, record.orders) == record.makespan);
    for (std::size_t r = 0; r < record.orders.size(); ++r)
      CHECK(peak_stored(record.orders[r]) == record.peaks[r]);
  }
}

TEST_CASE("generated orders equal the recorded ones", "[records]") {
  int held = 0;
  for (const ScheduleRecord& record : schedule_records()) {
    const std::string name = generator_of(record);
    if (name.empty()) continue;
    INFO(record.name);
    CHECK(orders_of(name, record.shape) == record.orders);
    ++held;
  }
  CHECK(held == 138);
}

TEST_CASE("GPipe, 1F1B and policy B take (m + p - 1)(f + b + w)", "[orders]") {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 64; ++m) {
      const PipelineShape shape = shape_of(p, 1, m);
      for (const char* name : {"gpipe", "1f1b", "dapple-b"}) {
        INFO(name << " p " << p << " m " << m);
        CHECK(makespan_of(name, shape) == (m + p - 1) * 10.0);
      }
      const auto policy_a = orders_of("1f1b", shape);
      const auto policy_b = orders_of("dapple-b", shape);
      for (int r = 0; r < p; ++r) {
        CHECK(peak_stored(policy_a[static_cast<std::size_t>(r)]) == std::min(p - r, m));
        CHECK(peak_stored(policy_b[static_cast<std::size_t>(r)]) == std::min(2 * (p - r) - 1, m));
      }
    }
  }
}

TEST_CASE("interleaved and breadth-first take (m + (p - 1) / V)(f + b + w) where p divides m",
          "[orders]") {
  for (int p = 1; p <= 8; ++p) {
    for (int m = p; m <= 64; m += p) {
      for (int chunks = 1; chunks <= 4; ++chunks) {
        const PipelineShape shape = shape_of(p, chunks, m);
        INFO("p " << p << " m " << m << " V " << chunks);
        const double expected = (m * chunks + p - 1) * 10.0;
        CHECK(makespan_of("interleaved-1f1b", shape) == expected);
        CHECK(makespan_of("breadth-first", shape) == expected);
        const auto orders = orders_of("interleaved-1f1b", shape);
        for (int r = 0; r < p; ++r) {
          const int stored = std::min((chunks - 1) * p + 2 * (p - 1 - r) + 1, m * chunks);
          CHECK(peak_stored(orders[static_cast<std::size_t>(r)]) == stored);
        }
      }
    }
  }
}

TEST_CASE("interleaved and breadth-first run any number of micro-batches", "[orders]") {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 64; ++m) {
      for (int chunks = 1; chunks <= 4; ++chunks) {
        const PipelineShape shape = shape_of(p, chunks, m);
        INFO("p " << p << " m " << m << " V " << chunks);
        const double interleaved = makespan_of("interleaved-1f1b", shape);
        const double breadth_first = makespan_of("breadth-first", shape);
        // Padding m to the next multiple of p would take as long as this.
        const double padded = ((m + p - 1) / p * p * chunks + p - 1) * 10.0;
        CHECK(interleaved <= padded);
        CHECK(breadth_first <= padded);
      }
    }
  }
}

TEST_CASE("warm-up stays within the memory", "[orders]") {
  PipelineShape shape = shape_of(4, 1, 9);
  shape.most_stored = {2, 3, 1, 4};
  for (const char* name : {"1f1b", "dapple-b"}) {
    const auto orders = orders_of(name, shape);
    CHECK(replay(shape, orders).has_value());
    for (std::size_t r = 0; r < 4; ++r) CHECK(peak_stored(orders[r]) <= shape.most_stored[r]);
  }
}

TEST_CASE("orders that wait for each other have no replay", "[orders]") {
  const PipelineShape shape = shape_of(2, 1, 2);
  const std::vector<TaskOrder> orders = {parse_order("F0 BW0 F1 BW1", 0),
                                         parse_order("F0 F1 BW0 BW1", 1)};
  CHECK_FALSE(replay(shape, orders).has_value());
  CHECK(plain_makespan(shape, orders) == -1.0);
}

TEST_CASE("shapes that contradict themselves are refused", "[orders]") {
  PipelineShape shape = shape_of(2, 1, 0);
  CHECK_THROWS_WITH(orders_of("1f1b", shape), Catch::Contains("0 micro-batches"));
  shape = shape_of(2, 1, 4);
  shape.unit = -1;
  CHECK_THROWS_WITH(orders_of("1f1b", shape), Catch::Contains("unit -1"));
  shape = shape_of(2, 1, 4);
  shape.seconds.pop_back();
  CHECK_THROWS_WITH(orders_of("1f1b", shape),
                    Catch::Contains("1 task times for a pipeline that has 2"));
  shape = shape_of(2, 1, 4);
  shape.cuts = {-1.0};
  CHECK_THROWS_WITH(orders_of("1f1b", shape), Catch::Contains("negative"));
  CHECK_THROWS_WITH(orders_of("2f2b", shape_of(2, 1, 4)),
                    Catch::Contains("no task orders for \"2f2b\""));
  CHECK_THROWS_WITH(orders_of("1f1b", shape_of(2, 2, 4)), Catch::Contains("one chunk per rank"));
}
