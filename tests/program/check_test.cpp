#include "program/check.hpp"

#include <algorithm>

#include "schedule/schedule.hpp"
#include "support/catch.hpp"
#include "support/ties.hpp"

using namespace pptrain;

namespace {

/// Programs of a small pipeline, to be damaged.
struct Example {
  Plan plan;
  std::vector<Tie> ties;
  Programs programs;

  Example() { compile(uniform_plan(even_division(6, 3), 2, 1, 8, 2, "1f1b")); }
  void compile(const Plan& made) {
    plan = made;
    ties = test::token_tie(plan, 50);
    programs = compile_training(plan, task_orders(plan), {ties});
  }

  std::vector<Instruction>& first() { return programs.front().instructions; }
  std::vector<Instruction>::iterator find(Op op) {
    return std::find_if(first().begin(), first().end(),
                        [op](const Instruction& i) { return i.op == op; });
  }
  std::string violation() const { return find_violation(plan, programs, ties); }
};

}  // namespace

TEST_CASE("compiled programs pass the checker") { CHECK(Example().violation().empty()); }

TEST_CASE("a missing send is found at the receiver") {
  Example example;
  example.first().erase(example.find(Op::send));
  CHECK(example.violation().find("waits for ever at \"wait for activation 0.0") !=
        std::string::npos);
}

TEST_CASE("a message nobody receives is found") {
  Example example;
  Instruction extra = *example.find(Op::send);
  std::get<TaskPlace>(extra.place).micro_batch = MicroBatchId(99);
  example.first().push_back(extra);
  CHECK(example.violation() == "a message is sent but never received");
}

TEST_CASE("a cycle of waits is found") {
  Example example;
  // The first stage waits for a gradient before it has sent the activations it comes from.
  auto& program = example.first();
  const auto wait = example.find(Op::wait_receive);
  const Instruction instruction = *wait;
  program.erase(wait);
  const auto post = example.find(Op::post_receive);
  const Instruction posted = *post;
  program.erase(post);
  program.insert(program.begin(), {posted, instruction});
  CHECK(example.violation().find("a cycle of waits") != std::string::npos);
}

TEST_CASE("replicas that meet in their tasks come to them in one order") {
  // Two replicas of one stage have nothing to say to one another but in the passes of their layers.
  const Plan plan = uniform_plan(even_division(6, 1), 2, 1, 8, 2, "gpipe");
  Programs programs = compile_training(plan, task_orders(plan), {{}});
  CHECK(find_violation(plan, programs, {}, ReplicaTasks::meet).empty());
  std::vector<Instruction>& first = programs.front().instructions;
  const auto task = [&](int micro_batch) {
    return std::find_if(first.begin(), first.end(), [micro_batch](const Instruction& i) {
      return i.op == Op::forward && i.micro_batch() == MicroBatchId(micro_batch);
    });
  };
  std::iter_swap(task(1), task(2));
  CHECK(find_violation(plan, programs, {}, ReplicaTasks::apart).empty());
  CHECK(find_violation(plan, programs, {}, ReplicaTasks::meet).find("waits for ever at \"F0.") !=
        std::string::npos);
}

TEST_CASE("every schedule lets replicas meet in their tasks") {
  for (const std::string schedule :
       {"gpipe", "1f1b", "dapple-b", "breadth-first", "zb-h1", "zb-h2", "zeropp", "auto"}) {
    INFO(schedule);
    const Plan plan = uniform_plan(even_division(6, 3), 2, 1, 16, 2, schedule);
    CHECK(find_violation(plan, compile_training(plan, task_orders(plan), {{}}), {},
                         ReplicaTasks::meet)
              .empty());
    CHECK(find_violation(plan, compile_evaluation(plan), {}, ReplicaTasks::meet).empty());
  }
}

TEST_CASE("a task that runs twice, or before its forward, is found") {
  Example twice;
  twice.first().push_back(*twice.find(Op::forward));
  CHECK(twice.violation().find("out of order or runs twice") != std::string::npos);
  Example early;
  const auto backward = early.find(Op::backward);
  std::iter_swap(early.first().begin(), backward);
  CHECK(early.violation().find("BW0.0 is out of order") != std::string::npos);
}

TEST_CASE("a task without its input is found") {
  Example example;
  auto& program = example.programs.back().instructions;
  const auto wait = std::find_if(program.begin(), program.end(),
                                 [](const Instruction& i) { return i.op == Op::wait_receive; });
  program.erase(wait);
  CHECK(example.violation().find("has 0 of its 1 samples") != std::string::npos);
}

TEST_CASE("weights that are not gathered, not released or gathered in another order are found") {
  Example example;
  Plan plan = uniform_plan(even_division(6, 6), 2, 1, 8, 2, ScheduleChoice{"breadth-first", 2, 0});
  for (Stage& stage : plan.stages) stage.zero_stage = 3;
  example.compile(plan);
  CHECK(example.violation().empty());
  const Programs sound = example.programs;
  example.first().erase(example.find(Op::gather_parameters));
  CHECK(example.violation().find("F0.0 has no weights") != std::string::npos);
  example.programs = sound;
  example.first().erase(example.find(Op::release_parameters));
  CHECK(example.violation().find("gather parameters of chunk 0 comes twice") != std::string::npos);
  example.programs = sound;
  const auto last =
      std::find_if(example.first().rbegin(), example.first().rend(),
                   [](const Instruction& i) { return i.op == Op::release_parameters; });
  example.first().erase(std::next(last).base());
  CHECK(example.violation().find("never releases chunk 0") != std::string::npos);
}

TEST_CASE("a member that leaves out a collective is found") {
  Example example;
  example.first().erase(example.find(Op::reduce_norm));
  CHECK(example.violation().find("comes to its collectives in another order") != std::string::npos);
}

TEST_CASE("gradients that are reduced too early, twice or never are found") {
  Example never;
  never.first().erase(never.find(Op::reduce_gradients));
  CHECK(never.violation() == "device 0: reduces the gradients of 0 of its 1 chunks");
  Example early;
  const Instruction reduction = *early.find(Op::reduce_gradients);
  early.first().erase(early.find(Op::reduce_gradients));
  early.first().insert(early.find(Op::backward), reduction);
  CHECK(early.violation() == "device 0: all-reduce gradients of chunk 0 comes before its last W");
  Example twice;
  twice.first().push_back(reduction);
  CHECK(twice.violation() == "device 0: all-reduce gradients of chunk 0 comes twice");
}

namespace {

/// A V over two stages: chunks 1 and 2 are neighbours on the second one.
Example v_example() {
  Example example;
  example.compile(uniform_plan(even_division(4, 4), 1, 1, 2, 1, ScheduleChoice{"zb-v", 2, 0}));
  std::swap(example.programs.front(), example.programs.back());
  return example;
}

}  // namespace

TEST_CASE("chunks on one device hand over and send nothing to themselves") {
  Example good = v_example();
  CHECK(good.violation().empty());
  const auto handed = std::count_if(good.first().begin(), good.first().end(),
                                    [](const Instruction& i) { return i.op == Op::hand_over; });
  CHECK(handed == 4);  // activations and gradients of two micro-batches
  Example missing = v_example();
  missing.first().erase(missing.find(Op::hand_over));
  CHECK(missing.violation().find("has 0 of its 1 samples") != std::string::npos);
  Example late = v_example();
  std::rotate(late.find(Op::hand_over), late.find(Op::hand_over) + 1, late.first().end());
  CHECK(late.violation().find("has 0 of its 1 samples") != std::string::npos);
  Example elsewhere = v_example();
  std::get<TaskPlace>(elsewhere.find(Op::hand_over)->place).micro_batch = MicroBatchId(1);
  CHECK(elsewhere.violation().find("does not follow its task") != std::string::npos);
  Example to_itself = v_example();
  to_itself.find(Op::send)->peer = to_itself.programs.front().device;
  CHECK(to_itself.violation().find("has a message to itself") != std::string::npos);
}
