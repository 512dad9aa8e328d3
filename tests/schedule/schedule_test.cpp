#include "schedule/schedule.hpp"

#include <algorithm>
#include <map>

#include "cost/cost.hpp"
#include "program/check.hpp"
#include "support/catch.hpp"
#include "support/ties.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

std::string text(const TaskOrder& order) {
  std::string result;
  for (const Task& task : order) {
    result +=
        (task.kind == TaskKind::forward ? "F" : "B") + std::to_string(task.micro_batch.value) + " ";
  }
  return result;
}

/// Largest number of micro-batches between their F and their B.
std::int64_t peak_stored(const TaskOrder& order) {
  std::int64_t stored = 0;
  std::int64_t peak = 0;
  for (const Task& task : order) {
    stored += task.kind == TaskKind::forward ? 1 : -1;
    peak = std::max(peak, stored);
  }
  return peak;
}

std::map<std::int64_t, Interval> received_samples(const Program& program, Payload payload) {
  std::map<std::int64_t, Interval> result;
  for (const Instruction& i : program.instructions) {
    const bool is_first = i.is_tied() || i.micro_batch().value == 0;
    if (i.op == Op::wait_receive && i.payload == payload && is_first)
      result[i.peer.value] = i.interval;
  }
  return result;
}

}  // namespace

TEST_CASE("GPipe runs all forwards, then all backwards") {
  const Plan plan = uniform_plan(even_division(4, 2), 1, 1, 3, 1, "gpipe");
  CHECK(text(task_orders(plan)[0]) == "F0 F1 F2 B0 B1 B2 ");
  CHECK(text(task_orders(plan)[1]) == "F0 F1 F2 B0 B1 B2 ");
}

TEST_CASE("1F1B warms up with S - i forwards and alternates") {
  const Plan plan = uniform_plan(even_division(6, 3), 1, 1, 4, 1, "1f1b");
  const auto orders = task_orders(plan);
  CHECK(text(orders[0]) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(text(orders[1]) == "F0 F1 B0 F2 B1 F3 B2 B3 ");
  CHECK(text(orders[2]) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
}

TEST_CASE("an order holds as many micro-batches as the memory model counts") {
  for (const char* name : {"gpipe", "1f1b", "dapple-b"}) {
    for (const std::int64_t micro_batches : {1, 2, 3, 8}) {
      const Plan plan = uniform_plan(even_division(8, 4), 1, 1, micro_batches, 1, name);
      const auto orders = task_orders(plan);
      for (int s = 0; s < 4; ++s)
        CHECK(peak_stored(orders[s]) == micro_batches_in_flight(plan, StageId(s)));
    }
  }
}

TEST_CASE("interleaved and breadth-first hold as many micro-batches as the memory model counts") {
  for (const char* name : {"interleaved-1f1b", "breadth-first"}) {
    for (const std::int64_t micro_batches : {1, 2, 3, 4, 5, 8, 11}) {
      for (const int chunks : {1, 2, 3}) {
        Plan plan = uniform_plan(even_division(4, 4), 1, 1, micro_batches, 1, name);
        plan.schedule.virtual_stages = chunks;
        for (int s = 0; s < 4; ++s) {
          plan.stages[s].layers.clear();
          for (int v = 0; v < chunks; ++v)
            plan.stages[s].layers.push_back({4 * v + s, 4 * v + s + 1});
        }
        const auto orders = task_orders(plan);
        for (int s = 0; s < 4; ++s) {
          const std::int64_t stored = peak_stored(orders[s]);
          CHECK((stored + chunks - 1) / chunks == micro_batches_in_flight(plan, StageId(s)));
        }
      }
    }
  }
}

TEST_CASE("chunks have to lie where the schedule has them") {
  Plan plan = uniform_plan(even_division(4, 2), 1, 1, 4, 1, "1f1b");
  plan.schedule.name = "zb-v";
  CHECK_THROWS_WITH(task_orders(plan), Catch::Contains("\"zb-v\" runs two chunks per stage"));
  plan.schedule = {"interleaved-1f1b", 2, 0};
  plan.stages[0].layers = {{0, 1}, {3, 4}};
  plan.stages[1].layers = {{1, 2}, {2, 3}};
  CHECK_THROWS_WITH(task_orders(plan), Catch::Contains("chunk 2 lies on stage 1"));
  plan.stages[0].layers = {{0, 1}, {2, 3}};
  plan.stages[1].layers = {{1, 2}, {3, 4}};
  CHECK(text(task_orders(plan)[1]) == "F0 F1 F0 B0 F1 B1 F2 B0 F3 B1 F2 B2 F3 B3 B2 B3 ");
  plan.schedule.name = "1f1b";
  CHECK_THROWS_WITH(task_orders(plan), Catch::Contains("\"1f1b\" runs one chunk per stage"));
}

TEST_CASE("between stages of different replica counts the sample intervals are intersected") {
  // Stage 0: devices 0, 1, 2 with 3, 2 and 1 of six samples; stage 1: devices 3 and 4 with 2 and 4.
  Plan plan = uniform_plan({{0, 2}, {2, 4}}, 1, 1, 6, 6, "1f1b");
  plan.stages[0].replicas = 3;
  plan.stages[0].devices = {{DeviceId(0)}, {DeviceId(1)}, {DeviceId(2)}};
  plan.stages[0].samples = {{0, 3}, {3, 5}, {5, 6}};
  plan.stages[1].replicas = 2;
  plan.stages[1].devices = {{DeviceId(3)}, {DeviceId(4)}};
  plan.stages[1].samples = {{0, 2}, {2, 6}};
  const Programs programs = compile_training(plan, task_orders(plan), {});
  CHECK(find_violation(plan, programs).empty());
  CHECK(received_samples(programs[3], Payload::activation) ==
        std::map<std::int64_t, Interval>{{0, {0, 2}}});
  CHECK(received_samples(programs[4], Payload::activation) ==
        std::map<std::int64_t, Interval>{{0, {2, 3}}, {1, {3, 5}}, {2, {5, 6}}});
  CHECK(received_samples(programs[0], Payload::gradient) ==
        std::map<std::int64_t, Interval>{{3, {0, 2}}, {4, {2, 3}}});
}

TEST_CASE("every uniform grid compiles to programs that pass the checker") {
  int checked = 0;
  for (int pipeline = 1; pipeline <= 6; ++pipeline) {
    for (const int data : {1, 2, 4}) {
      for (const int tensor : {1, 2, 3}) {
        for (const char* schedule : {"gpipe", "1f1b"}) {
          const Plan plan = uniform_plan(even_division(6, pipeline), data, tensor, 8, 4, schedule);
          for (const std::vector<Tie>& ties :
               {std::vector<Tie>(), token_tie(plan, 257), many_ties(plan, 257)}) {
            CHECK(find_violation(plan, compile_training(plan, task_orders(plan), {ties}), ties)
                      .empty());
            CHECK(find_violation(plan, compile_evaluation(plan)).empty());
            ++checked;
          }
        }
      }
    }
  }
  CHECK(checked == 324);
}

TEST_CASE("every schedule with chunks compiles to programs that pass the checker") {
  for (const ScheduleChoice& choice : std::vector<ScheduleChoice>{{"dapple-b", 1, 0},
                                                                  {"interleaved-1f1b", 1, 0},
                                                                  {"interleaved-1f1b", 3, 0},
                                                                  {"breadth-first", 2, 0},
                                                                  {"zb-h1", 1, 0},
                                                                  {"zb-h2", 1, 0},
                                                                  {"zb-v", 2, 0},
                                                                  {"zeropp", 2, 0},
                                                                  {"zeropp", 3, 2}}) {
    for (int pipeline = 1; pipeline <= 3; ++pipeline) {
      for (const int data : {1, 2}) {
        const int chunks = pipeline * choice.virtual_stages;
        const Plan plan = uniform_plan(even_division(9, chunks), data, 2, 10, 2, choice);
        for (const std::vector<Tie>& ties :
             {std::vector<Tie>(), token_tie(plan, 257), many_ties(plan, 257)}) {
          INFO(choice.name << " V " << choice.virtual_stages << " pp " << pipeline << " dp " << data
                           << " ties " << ties.size());
          CHECK(find_violation(plan, compile_training(plan, task_orders(plan), {ties}), ties)
                    .empty());
          CHECK(find_violation(plan, compile_evaluation(plan)).empty());
        }
      }
    }
  }
}

TEST_CASE("gradients of a chunk are reduced right after its last W") {
  const Plan plan =
      uniform_plan(even_division(4, 4), 1, 1, 4, 1, ScheduleChoice{"breadth-first", 2, 0});
  const Programs programs = compile_training(plan, task_orders(plan), {});
  std::string text;
  for (const Instruction& i : programs[1].instructions) {
    if (i.op == Op::backward || i.op == Op::reduce_gradients) text += to_string(i) + ", ";
  }
  CHECK(text ==
        "BW3.3, BW3.2, BW3.1, BW3.0, all-reduce gradients of chunk 3, "
        "BW1.3, BW1.2, BW1.1, BW1.0, all-reduce gradients of chunk 1, ");
}

TEST_CASE("a shared embedding of two chunks on one stage is reduced after the last W of both") {
  const Plan plan =
      uniform_plan(even_division(4, 2), 1, 1, 1, 1, ScheduleChoice{"interleaved-1f1b", 2, 0});
  const auto task = [](TaskKind kind, int chunk) {
    return Task{kind, ChunkId(chunk), MicroBatchId(0)};
  };
  const TaskOrder order = {task(TaskKind::forward, 0),         task(TaskKind::forward, 1),
                           task(TaskKind::backward_input, 1),  task(TaskKind::backward_input, 0),
                           task(TaskKind::backward_weight, 0), task(TaskKind::backward_weight, 1)};
  const auto end_of = [&](const std::vector<Tie>& ties) {
    const Programs programs = compile_training(plan, {order}, {ties});
    CHECK(find_violation(plan, programs, ties).empty());
    std::string text;
    for (const Instruction& i : programs[0].instructions) {
      if (i.op == Op::backward_weight || i.op == Op::reduce_gradients || i.op == Op::reduce_tied) {
        text += to_string(i) + ", ";
      }
    }
    return text;
  };
  CHECK(end_of(token_tie(plan, 50)) ==
        "W0.0, W1.0, all-reduce gradients of chunk 1, all-reduce gradients of chunk 0, ");
  CHECK(end_of({}) ==
        "W0.0, all-reduce gradients of chunk 0, W1.0, all-reduce gradients of chunk 1, ");
}

TEST_CASE("tied gradients are exchanged shard by shard") {
  const Plan plan = uniform_plan(even_division(4, 2), 2, 2, 8, 4, "1f1b");
  const Programs programs = compile_training(plan, task_orders(plan), {token_tie(plan, 10)});
  const auto tied = received_samples(programs[3], Payload::tied_gradient);  // stage 0, replica 1,
                                                                            // shard 1
  CHECK(tied == std::map<std::int64_t, Interval>{{7, {5, 10}}});
}

TEST_CASE(
    "a tied embedding whose ends are divided differently on the same devices crosses between "
    "them") {
  // Replicas with the whole embedding, whose output layer holds two of eight rows each.
  Plan plan = uniform_plan({{0, 4}}, 4, 1, 8, 4, "1f1b");
  plan.stages[0].blocks = {{{3, 4}, 1, 4, TensorPattern::megatron, {{0, 4}}, {}}};
  const std::vector<Tie> ties = token_tie(plan, 8);
  const Programs programs = compile_training(plan, task_orders(plan), {ties});
  CHECK(find_violation(plan, programs, ties).empty());
  std::string text;
  for (const Instruction& i : programs[1].instructions) {
    if (i.payload == Payload::tied_gradient || i.op == Op::reduce_tied) text += to_string(i) + ", ";
  }
  // To the first end all rows, of its own two a copy; to the last one what it has anyway.
  CHECK(
      text ==
      "post receive tied gradient 0.1 [0, 2) from device 0, post receive tied gradient 0.1 [4, 6) "
      "from device 2, "
      "post receive tied gradient 0.1 [6, 8) from device 3, hand over tied gradient 1.0, "
      "send tied gradient 0.1 [2, 4) to device 0, hand over tied gradient 0.1, "
      "send tied gradient 0.1 [2, 4) to device 2, send tied gradient 0.1 [2, 4) to device 3, "
      "wait for tied gradient 0.1 [0, 2) from device 0, wait for tied gradient 0.1 [4, 6) from "
      "device 2, "
      "wait for tied gradient 0.1 [6, 8) from device 3, add tied gradients, add tied gradients, ");

  Programs wrong = programs;
  std::erase_if(wrong[1].instructions, [](const Instruction& i) { return i.op == Op::hand_over; });
  CHECK(find_violation(plan, wrong, ties) ==
        "device 1: add tied gradients comes without rows in one piece");
  wrong = programs;
  for (Instruction& i : wrong[1].instructions) {
    if (i.op == Op::hand_over && i.tie().receiving_end == 0) i.interval = {1, 4};
  }
  CHECK(find_violation(plan, wrong, ties) ==
        "device 1: add tied gradients comes without rows in one piece");
}

TEST_CASE("chunks with blocks pass the checker, and one hands over what the next one computes") {
  for (const ScheduleChoice& choice :
       std::vector<ScheduleChoice>{{"interleaved-1f1b", 2, 0}, {"zeropp", 2, 0}}) {
    Plan plan = uniform_plan(even_division(8, 2), 2, 1, 8, 4, choice);
    plan.stages[0].blocks = {{{4, 6}, 1, 2, TensorPattern::megatron, {{0, 4}}, {}}};
    for (const std::vector<Tie>& ties :
         {std::vector<Tie>(), token_tie(plan, 257), many_ties(plan, 257)}) {
      const Programs programs = compile_training(plan, task_orders(plan), {ties});
      CHECK(find_violation(plan, programs, ties).empty());
      for (const Instruction& i : programs[1].instructions) {
        if (i.op != Op::hand_over || i.payload == Payload::tied_gradient) continue;
        // The second chunk begins with whole micro-batches, the first one ends with halves of them.
        CHECK(i.interval == (i.payload == Payload::activation ? Interval{0, 4} : Interval{2, 4}));
      }
    }
  }
}
