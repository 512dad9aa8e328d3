#include "schedule/zero_bubble.hpp"

#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "cost/cost.hpp"
#include "schedule/orders.hpp"
#include "schedule/records.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

using namespace pptrain;

namespace {

/// Makespan of the orders, after checking that they fit and respect the bound.
double checked_makespan(const PipelineShape& shape, const std::vector<TaskOrder>& orders) {
  const auto result = replay(shape, orders);
  REQUIRE(result);
  CHECK(result->makespan >= makespan_bound(shape) * (1.0 - 1e-12));
  for (std::size_t r = 0; r < orders.size(); ++r) {
    CHECK(std::ssize(orders[r]) == 3L * shape.chunks_per_rank * shape.micro_batches);
    CHECK(fits(shape, static_cast<int>(r), orders[r]));
  }
  return result->makespan;
}

PipelineShape random_shape(std::mt19937& random) {
  PipelineShape shape;
  shape.ranks = 1 + static_cast<int>(random() % 6);
  shape.chunks_per_rank = 1 + static_cast<int>(random() % 3);
  if (shape.chunks_per_rank == 2 && random() % 2 == 0) shape.placement = ChunkPlacement::v_shape;
  shape.micro_batches = 1 + static_cast<int>(random() % 9);
  const auto seconds = [&] { return static_cast<double>(random() % 20) / 4.0; };
  for (int c = 0; c < shape.num_chunks(); ++c)
    shape.seconds.push_back({seconds(), seconds(), seconds()});
  for (int c = 1; c < shape.num_chunks(); ++c) shape.cuts.push_back(seconds());
  for (int r = 0; r < shape.ranks; ++r) {
    shape.most_stored.push_back(shape.chunks_per_rank + static_cast<int>(random() % 8));
  }
  return shape;
}

/// Limits in bytes: B leaves more than it frees of some chunks, less of others, and every task
/// needs some beside. Each rank has room for one micro-batch at least.
void limit_bytes(PipelineShape& shape, std::mt19937& random) {
  shape.most_stored.clear();
  const auto bytes = [&random](unsigned most) { return static_cast<double>(random() % most); };
  for (int c = 0; c < shape.num_chunks(); ++c) {
    shape.stored.push_back({1.0 + bytes(9), bytes(14), bytes(5), bytes(6), bytes(3)});
  }
  for (int r = 0; r < shape.ranks; ++r)
    shape.room.push_back(least_room(shape.stored_of(r)) + bytes(40));
}

/// Whether any order of a plain pipeline ends before `limit`: all of them are tried, tasks appended
/// by start time, cut where a rank's remaining work alone takes too long.
class Exhaustive {
 public:
  Exhaustive(const PipelineShape& shape, double limit)
      : shape_(shape), limit_(limit), ranks_(shape.ranks) {
    for (Rank& rank : ranks_) {
      rank.forward_ends.assign(shape.micro_batches, -1.0);
      rank.backward_ends.assign(shape.micro_batches, -1.0);
    }
  }

  bool any_faster(double last_start = 0.0) {
    bool complete = true;
    for (int r = 0; r < shape_.ranks; ++r) {
      const Rank& rank = ranks_[r];
      const TaskSeconds seconds = shape_.seconds_of(r);
      const int m = shape_.micro_batches;
      complete = complete && rank.weight == m;
      const double left = (m - rank.forward) * seconds.forward +
                          (m - rank.backward) * seconds.backward_input +
                          (m - rank.weight) * seconds.backward_weight;
      if (std::max(rank.now, last_start * (left > 0.0)) + left >= limit_) return false;
    }
    if (complete) return true;
    for (int r = 0; r < shape_.ranks; ++r) {
      if (try_forward(r, last_start) || try_backward(r, last_start) || try_weight(r, last_start))
        return true;
    }
    return false;
  }

 private:
  struct Rank {
    double now = 0.0;
    int forward = 0;
    int backward = 0;
    int weight = 0;
    std::vector<double> forward_ends;
    std::vector<double> backward_ends;
  };

  bool try_forward(int r, double last_start) {
    const int i = ranks_[r].forward;
    if (i == shape_.micro_batches || i - ranks_[r].weight >= shape_.most_stored[r]) return false;
    const double input = r == 0 ? 0.0 : ranks_[r - 1].forward_ends[i];
    if (input < 0.0) return false;
    const Rank before = ranks_[r];
    const double start =
        std::max(before.now, input + (r == 0 ? 0.0 : shape_.cut_after(r - 1).forward.seconds));
    ++ranks_[r].forward;
    ranks_[r].now = ranks_[r].forward_ends[i] = start + shape_.seconds_of(r).forward;
    const bool found = start >= last_start && any_faster(start);
    ranks_[r] = before;
    return found;
  }

  bool try_backward(int r, double last_start) {
    const int i = ranks_[r].backward;
    if (i == ranks_[r].forward) return false;
    const bool last = r + 1 == shape_.ranks;
    const double gradient = last ? 0.0 : ranks_[r + 1].backward_ends[i];
    if (gradient < 0.0) return false;
    const Rank before = ranks_[r];
    const double start =
        std::max(before.now, gradient + (last ? 0.0 : shape_.cut_after(r).forward.seconds));
    ++ranks_[r].backward;
    ranks_[r].now = ranks_[r].backward_ends[i] = start + shape_.seconds_of(r).backward_input;
    const bool found = start >= last_start && any_faster(start);
    ranks_[r] = before;
    return found;
  }

  bool try_weight(int r, double last_start) {
    if (ranks_[r].weight == ranks_[r].backward) return false;
    const Rank before = ranks_[r];
    ++ranks_[r].weight;
    ranks_[r].now = before.now + shape_.seconds_of(r).backward_weight;
    const bool found = before.now >= last_start && any_faster(before.now);
    ranks_[r] = before;
    return found;
  }

  const PipelineShape& shape_;
  double limit_;
  std::vector<Rank> ranks_;
};

}  // namespace

TEST_CASE("no order of a small pipeline is more than 1 % faster", "[zero-bubble]") {
  std::mt19937 random(11);
  for (int n = 0; n < 30; ++n) {
    PipelineShape shape;
    shape.ranks = 2 + static_cast<int>(random() % 3);
    shape.micro_batches = 2 + static_cast<int>(random() % (6 - shape.ranks));
    const auto seconds = [&] { return static_cast<double>(1 + random() % 9); };
    for (int r = 0; r < shape.ranks; ++r)
      shape.seconds.push_back({seconds(), seconds(), seconds()});
    for (int r = 1; r < shape.ranks; ++r) shape.cuts.push_back(static_cast<double>(random() % 3));
    for (int r = 0; r < shape.ranks; ++r)
      shape.most_stored.push_back(1 + static_cast<int>(random() % 3));
    INFO("n " << n << " p " << shape.ranks << " m " << shape.micro_batches);
    const double makespan = checked_makespan(shape, orders_of("auto", shape));
    CHECK_FALSE(Exhaustive(shape, makespan / 1.01).any_faster());
    CHECK(Exhaustive(shape, makespan + 0.5).any_faster());
  }
}

TEST_CASE("zero-bubble orders are as good as recorded ones at equal memory", "[zero-bubble]") {
  int held = 0;
  int behind = 0;
  for (const ScheduleRecord& record : schedule_records()) {
    const bool h1 =
        record.schedule == "interleaved_zero_bubble" && record.shape.chunks_per_rank == 1;
    if (!h1 && record.schedule != "zb_auto" && record.schedule != "zbv_auto") continue;
    INFO(record.name);
    PipelineShape shape = record.shape;
    if (record.limit > 0)
      shape.most_stored.assign(record.peaks.size(), record.limit * shape.chunks_per_rank);
    const double makespan =
        checked_makespan(shape, h1 ? orders_of("zb-h1", shape) : orders_of("auto", shape));
    CHECK(makespan <= 1.05 * record.makespan);
    behind += makespan > 1.02 * record.makespan ? 1 : 0;
    ++held;
  }
  CHECK(held == 185);
  CHECK(behind * 20 <= held);
}

TEST_CASE("each kind of zero bubble stores what its name allows", "[zero-bubble]") {
  for (const int m : {1, 3, 8, 13}) {
    for (const char* name : {"zb-h1", "zb-h2", "zb-v"}) {
      INFO(name << " m " << m);
      Plan plan = uniform_plan(even_division(8, 4), 1, 1, m, 1, name);
      if (std::string(name) == "zb-v") {
        plan.schedule.virtual_stages = 2;
        for (int s = 0; s < 4; ++s) plan.stages[s].layers = {{s, s + 1}, {7 - s, 8 - s}};
      }
      const std::vector<TaskOrder> orders = task_orders(plan);
      for (int s = 0; s < 4; ++s) {
        CHECK(peak_stored(orders[s]) <=
              plan.schedule.virtual_stages * micro_batches_in_flight(plan, StageId(s)));
      }
    }
  }
}

TEST_CASE("zero-bubble orders of unequal stages fit their memory and end", "[zero-bubble]") {
  std::mt19937 random(7);
  for (int n = 0; n < 60; ++n) {
    const PipelineShape shape = random_shape(random);
    INFO("p " << shape.ranks << " V " << shape.chunks_per_rank << " m " << shape.micro_batches);
    const std::vector<TaskOrder> orders = orders_of("auto", shape);
    checked_makespan(shape, orders);
    CHECK(orders == orders_of("auto", shape));
  }
}

TEST_CASE("orders keep to bytes that tasks need and leave behind", "[zero-bubble]") {
  std::mt19937 random(19);
  int full = 0;  // ranks that could not store more of what they store most of
  for (int n = 0; n < 200; ++n) {
    PipelineShape shape = random_shape(random);
    limit_bytes(shape, random);
    INFO("n " << n << " p " << shape.ranks << " V " << shape.chunks_per_rank << " m "
              << shape.micro_batches);
    for (const OrderEffort effort : {OrderEffort::sketch, OrderEffort::full}) {
      shape.effort = effort;
      const std::vector<TaskOrder> orders = orders_of("auto", shape);
      checked_makespan(shape, orders);
      for (int r = 0; r < shape.ranks; ++r) {
        PipelineShape less = shape;
        less.room[static_cast<std::size_t>(r)] *= 0.9;
        full += fits(less, r, orders[static_cast<std::size_t>(r)]) ? 0 : 1;
      }
    }
  }
  CHECK(full > 200);
}

TEST_CASE("what B frees at once, others may store before its W", "[zero-bubble]") {
  PipelineShape shape;
  shape.ranks = 4;
  shape.micro_batches = 32;
  shape.room.assign(4, 2.0);
  shape.stored.assign(4, StoredBytes{1.0, 1.0, 0.0, 0.0, 0.0});
  const double kept = checked_makespan(shape, orders_of("auto", shape));
  shape.stored.assign(4, StoredBytes{1.0, 0.0, 0.0, 0.0, 0.0});
  CHECK(checked_makespan(shape, orders_of("auto", shape)) < kept);
  PipelineShape counted = shape;
  counted.stored.clear();
  counted.room.clear();
  counted.most_stored.assign(4, 2);
  CHECK(checked_makespan(counted, orders_of("auto", counted)) == kept);
}

TEST_CASE("no order is longer than 1F1B with W behind B where that fits", "[zero-bubble]") {
  // B leaves more than it frees, so that orders which put W off store fewer micro-batches.
  std::mt19937 random(23);
  const auto between = [&random](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int n = 0; n < 40; ++n) {
    PipelineShape shape;
    shape.ranks = 2 + static_cast<int>(random() % 7);
    shape.micro_batches = 4 * shape.ranks + static_cast<int>(random() % 32);
    const double weight = between(0.1, 1.5);
    const double after = between(1.0, 1.6);
    for (int r = 0; r < shape.ranks; ++r) {
      const double layers = between(0.4, 1.0);
      const double backward = (after - 1.0) * layers;
      shape.seconds.push_back({layers, layers, weight * layers});
      shape.stored.push_back({layers, after * layers, 0.0, backward, 0.0});
      shape.room.push_back((shape.ranks - r) * layers + backward + between(0.0, 0.3));
    }
    shape.cuts.assign(static_cast<std::size_t>(shape.ranks - 1), Cut(between(0.0, 0.3)));
    std::vector<TaskOrder> known = one_f_one_b_orders(shape, WarmUp::policy_a);
    for (TaskOrder& order : known) {
      TaskOrder apart;
      for (const Task& task : order) {
        const bool splits = task.kind == TaskKind::backward;
        apart.push_back(
            {splits ? TaskKind::backward_input : task.kind, task.chunk, task.micro_batch});
        if (splits) apart.push_back({TaskKind::backward_weight, task.chunk, task.micro_batch});
      }
      order = apart;
    }
    INFO("n " << n << " p " << shape.ranks << " m " << shape.micro_batches);
    const double most = checked_makespan(shape, known) * (1.0 + 1e-12);
    CHECK(checked_makespan(shape, orders_of("auto", shape)) <= most);
    shape.effort = OrderEffort::sketch;
    CHECK(checked_makespan(shape, orders_of("auto", shape)) <= most);
  }
}

TEST_CASE("a sketch of an order fits, is no shorter than the order, and takes less work",
          "[zero-bubble]") {
  std::mt19937 random(5);
  double sketched_work = 0.0;
  double work = 0.0;
  int far = 0;
  for (int trial = 0; trial < 60; ++trial) {
    PipelineShape shape = random_shape(random);
    shape.placement = ChunkPlacement::loop;
    for (const char* schedule : {"auto", "zeropp"}) {
      const FoundOrders order = find_orders(schedule, shape);
      PipelineShape sketched = shape;
      sketched.effort = OrderEffort::sketch;
      const FoundOrders sketch = find_orders(schedule, sketched);
      const double ratio =
          checked_makespan(shape, sketch.orders) / checked_makespan(shape, order.orders);
      CHECK(ratio >= 1.0 - 1e-12);
      far += ratio > 1.05 ? 1 : 0;
      CHECK(sketch.work <= order.work);
      sketched_work += static_cast<double>(sketch.work);
      work += static_cast<double>(order.work);
    }
  }
  CHECK(far <= 2 * 60 / 10);
  CHECK(sketched_work < 0.05 * work);
}

TEST_CASE(
    "a brief search for an order takes less than two thirds of the work and comes near the long "
    "one",
    "[zero-bubble]") {
  std::mt19937 random(6);
  double brief_work = 0.0, work = 0.0, ratios = 0.0;
  constexpr int trials = 40;
  for (int trial = 0; trial < trials; ++trial) {
    PipelineShape shape = random_shape(random);
    shape.placement = ChunkPlacement::loop;
    const FoundOrders order = find_orders("auto", shape);
    shape.effort = OrderEffort::brief;
    const FoundOrders brief = find_orders("auto", shape);
    shape.effort = OrderEffort::sketch;
    const double sketched = checked_makespan(shape, find_orders("auto", shape).orders);
    const double taken = checked_makespan(shape, brief.orders);
    CHECK(taken <= sketched * (1.0 + 1e-12));
    CHECK(brief.work <= order.work);
    ratios += taken / checked_makespan(shape, order.orders);
    brief_work += static_cast<double>(brief.work);
    work += static_cast<double>(order.work);
  }
  CHECK(ratios / trials < 1.005);
  CHECK(brief_work < 0.6 * work);
}

TEST_CASE("zero bubble needs memory for one micro-batch", "[zero-bubble]") {
  PipelineShape shape;
  shape.ranks = 2;
  shape.chunks_per_rank = 2;
  shape.most_stored = {2, 1};
  CHECK_THROWS_WITH(orders_of("auto", shape), Catch::Contains("a rank stores at most 1"));
  CHECK_THROWS_WITH(orders_of("zb-v", shape), Catch::Contains("two chunks per rank in a V"));
}

TEST_CASE("64 ranks with 1,024 micro-batches are ordered at little cost", "[zero-bubble]") {
  PipelineShape shape;
  shape.ranks = 64;
  shape.micro_batches = 1024;
  for (const char* name : {"1f1b", "zb-h1"}) {
    std::vector<TaskOrder> orders;
    CHECK(test::effort_of([&] { orders = orders_of(name, shape); }) < 140.0);
    CHECK(replay(shape, orders)->makespan <= 1.02 * 3.0 * (1024 + 63));
  }
}
