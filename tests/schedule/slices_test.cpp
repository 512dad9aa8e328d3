// What crosses a cut, or is shared by first and last stage, sent once in slices.
#include <algorithm>

#include "program/check.hpp"
#include "schedule/schedule.hpp"
#include "support/catch.hpp"
#include "support/ties.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

TransferForms slices(const Plan& plan) {
  const CutForms cut = {TransferForm::slices, TransferForm::slices};
  return {std::vector<CutForms>(chunk_places(plan).size() - 1, cut), {TransferForm::slices}};
}

Programs sliced(const Plan& plan, const std::vector<Tie>& ties = {}) {
  return compile_training(plan, task_orders(plan), {ties, slices(plan)});
}

/// Whether an instruction is about the first micro-batch, or a tied gradient.
bool is_first(const Instruction& i) { return i.is_tied() || i.micro_batch().value == 0; }

/// Two stages of two replicas: the first has one and three of four samples, the second two each.
/// Devices follow one another.
Plan two_stages(int first_degree, int second_degree) {
  Plan plan = uniform_plan({{0, 2}, {2, 4}}, 1, 1, 8, 4, "1f1b");
  int device = 0;
  for (int s = 0; s < 2; ++s) {
    Stage& stage = plan.stages[s];
    stage.replicas = 2;
    stage.tensor_parallel = s == 0 ? first_degree : second_degree;
    stage.samples =
        s == 0 ? std::vector<Interval>{{0, 1}, {1, 4}} : std::vector<Interval>{{0, 2}, {2, 4}};
    stage.devices.assign(2, {});
    for (auto& replica : stage.devices) {
      for (int k = 0; k < stage.tensor_parallel; ++k) replica.emplace_back(device++);
    }
  }
  return plan;
}

/// "0>4 [0, 1) " for every message of the first micro-batch, by receiver.
std::string received(const Programs& programs, Payload payload) {
  std::string text;
  for (const Program& program : programs) {
    for (const Instruction& i : program.instructions) {
      if (i.op != Op::wait_receive || i.payload != payload || !is_first(i)) continue;
      text += std::to_string(i.peer.value) + ">" + std::to_string(program.device.value) + " [" +
              std::to_string(i.interval.begin) + "," + std::to_string(i.interval.end) + ") ";
    }
  }
  return text;
}

/// "4 [0,4) " for every gather of the first micro-batch, by device.
std::string gathered(const Programs& programs, Payload payload) {
  std::string text;
  for (const Program& program : programs) {
    for (const Instruction& i : program.instructions) {
      if (i.op != Op::gather_received || i.payload != payload || !is_first(i)) continue;
      text += std::to_string(program.device.value) + " [" + std::to_string(i.interval.begin) + "," +
              std::to_string(i.interval.end) + ") ";
    }
  }
  return text;
}

/// What is sent of one payload in one iteration, in samples or rows.
double sent(const Programs& programs, Payload payload) {
  double sum = 0.0;
  for (const Program& program : programs) {
    for (const Instruction& i : program.instructions) {
      if (i.op == Op::send && i.payload == payload)
        sum += static_cast<double>(i.interval.size()) / i.units;
    }
  }
  return sum;
}

void check_cut(int first_degree, int second_degree, const std::string& activations,
               const std::string& gathers) {
  const Plan plan = two_stages(first_degree, second_degree);
  const Programs programs = sliced(plan);
  INFO(first_degree << " -> " << second_degree);
  CHECK(find_violation(plan, programs).empty());
  CHECK(find_violation(plan, compile_evaluation(plan, slices(plan))).empty());
  CHECK(received(programs, Payload::activation) == activations);
  CHECK(gathered(programs, Payload::activation) == gathers);
  // One copy of two micro-batches of four samples, whatever the degrees; whole copies are one per
  // member.
  CHECK(sent(programs, Payload::activation) == Approx(8.0));
  CHECK(sent(programs, Payload::gradient) == Approx(8.0));
  const Programs whole = compile_training(plan, task_orders(plan), {});
  CHECK(sent(whole, Payload::activation) == 8.0 * second_degree);
  CHECK(sent(whole, Payload::gradient) == 8.0 * first_degree);
}

}  // namespace

TEST_CASE("between tensor-parallel stages slices are the overlaps of both divisions") {
  // In halves of a sample.
  check_cut(2, 2, "0>4 [0,1) 1>4 [1,2) 2>5 [2,4) 2>6 [4,5) 3>6 [5,6) 3>7 [6,8) ",
            "4 [0,4) 5 [0,4) 6 [4,8) 7 [4,8) ");
  // In sixths: 1 + 3 samples are [0, 3) [3, 6) and [6, 15) [15, 24), 2 + 2 samples six parts of
  // four.
  check_cut(2, 3,
            "0>4 [0,3) 1>4 [3,4) 1>5 [4,6) 2>5 [6,8) 2>6 [8,12) 2>7 [12,15) 3>7 [15,16) 3>8 "
            "[16,20) 3>9 [20,24) ",
            "4 [0,12) 5 [0,12) 6 [0,12) 7 [12,24) 8 [12,24) 9 [12,24) ");
  // In quarters.
  check_cut(
      1, 4,
      "0>2 [0,2) 0>3 [2,4) 1>4 [4,6) 1>5 [6,8) 1>6 [8,10) 1>7 [10,12) 1>8 [12,14) 1>9 [14,16) ",
      "2 [0,8) 3 [0,8) 4 [0,8) 5 [0,8) 6 [8,16) 7 [8,16) 8 [8,16) 9 [8,16) ");
  check_cut(4, 1,
            "0>8 [0,1) 1>8 [1,2) 2>8 [2,3) 3>8 [3,4) 4>8 [4,7) 5>8 [7,8) 5>9 [8,10) 6>9 [10,13) "
            "7>9 [13,16) ",
            "");
  // In sixths again.
  check_cut(3, 2, "0>6 [0,2) 1>6 [2,4) 2>6 [4,6) 3>7 [6,12) 4>8 [12,18) 5>9 [18,24) ",
            "6 [0,12) 7 [0,12) 8 [12,24) 9 [12,24) ");
}

TEST_CASE("gradients cross back as activations came") {
  const Programs programs = sliced(two_stages(2, 2));
  CHECK(received(programs, Payload::gradient) ==
        "4>0 [0,1) 4>1 [1,2) 5>2 [2,4) 6>2 [4,5) 6>3 [5,6) 7>3 [6,8) ");
  CHECK(gathered(programs, Payload::gradient) == "0 [0,2) 1 [0,2) 2 [2,8) 3 [2,8) ");
}

TEST_CASE("a tied gradient crosses once, in slices of the rows that replicas share") {
  // Two replicas of two shards, then three whole replicas; ten rows in sixths.
  Plan plan = two_stages(2, 1);
  plan.stages[1].replicas = 3;
  plan.stages[1].samples = {{0, 1}, {1, 2}, {2, 4}};
  plan.stages[1].devices.push_back({DeviceId(6)});
  const std::vector<Tie> ties = token_tie(plan, 10);
  const Programs programs = sliced(plan, ties);
  CHECK(find_violation(plan, programs, ties).empty());
  CHECK(received(programs, Payload::tied_gradient) ==
        "4>0 [0,15) 5>1 [30,40) 6>1 [40,45) 4>2 [15,20) 5>2 [20,30) 6>3 [45,60) "
        "0>4 [0,15) 2>4 [15,20) 2>5 [20,30) 1>5 [30,40) 1>6 [40,45) 3>6 [45,60) ");
  CHECK(gathered(programs, Payload::tied_gradient) ==
        "0 [0,30) 1 [30,60) 2 [0,30) 3 [30,60) 4 [0,60) 5 [0,60) 6 [0,60) ");
  CHECK(sent(programs, Payload::tied_gradient) == Approx(20.0));
  CHECK(sent(compile_training(plan, task_orders(plan), {ties}), Payload::tied_gradient) ==
        20.0 + 30.0);
}

TEST_CASE("slices of every uniform grid and schedule pass the checker") {
  for (const ScheduleChoice& choice : std::vector<ScheduleChoice>{
           {"gpipe", 1, 0}, {"1f1b", 1, 0}, {"zb-v", 2, 0}, {"zeropp", 3, 2}}) {
    for (int pipeline = 1; pipeline <= 3; ++pipeline) {
      for (const int data : {1, 2, 4}) {
        for (const int tensor : {1, 2, 3}) {
          const Plan plan = uniform_plan(even_division(9, pipeline * choice.virtual_stages), data,
                                         tensor, 8, 4, choice);
          INFO(choice.name << " pp " << pipeline << " dp " << data << " tmp " << tensor);
          const std::vector<Tie> ties = token_tie(plan, 257);
          const Programs programs = sliced(plan, ties);
          CHECK(find_violation(plan, programs, ties).empty());
          const double cuts =
              choice.name == "zb-v" ? 2.0 * (pipeline - 1) : pipeline * choice.virtual_stages - 1.0;
          CHECK(sent(programs, Payload::activation) == Approx(pipeline == 1 ? 0.0 : 8.0 * cuts));
        }
      }
    }
  }
}

namespace {

using Instructions = std::vector<Instruction>;

Instructions::iterator first_gather(Program& program, Payload payload) {
  return std::find_if(
      program.instructions.begin(), program.instructions.end(),
      [&](const Instruction& i) { return i.op == Op::gather_received && i.payload == payload; });
}

}  // namespace

TEST_CASE("a gather that is missing, too early or of something else is found") {
  const Plan plan = two_stages(2, 2);
  const std::vector<Tie> ties = token_tie(plan, 20);
  const Programs sound = sliced(plan, ties);
  CHECK(find_violation(plan, sound, ties).empty());

  Programs programs = sound;
  Program& member = programs[4];
  member.instructions.erase(first_gather(member, Payload::activation));
  CHECK(find_violation(plan, programs, ties) == "device 4: F1.0 has 1 of its 2 samples");

  programs = sound;
  const auto gather = first_gather(programs[4], Payload::activation);
  std::iter_swap(gather, gather - 1);
  CHECK(find_violation(plan, programs, ties) ==
        "device 4: gather received activation 0.0 comes without its slice");

  programs = sound;
  first_gather(programs[4], Payload::activation)->interval = {0, 6};
  CHECK(find_violation(plan, programs, ties).find("comes without its slice") != std::string::npos);

  programs = sound;
  for (Instruction& i : programs[5].instructions) {
    if (i.op == Op::wait_receive && i.payload == Payload::activation) i.interval = {1, 3};
  }
  CHECK(find_violation(plan, programs, ties).find("comes without its slice") != std::string::npos);

  programs = sound;
  programs[0].instructions.erase(first_gather(programs[0], Payload::tied_gradient));
  CHECK(find_violation(plan, programs, ties) ==
        "device 2 adds other rows of the tied gradient than its replicas");
}

TEST_CASE("a gather that its group comes to in another order is found") {
  const Plan plan = two_stages(2, 2);
  Programs programs = sliced(plan);
  // Both inputs of the first two tasks are waited for early, on one member in the other order.
  for (const int p : {4, 5}) {
    Instructions& own = programs[p].instructions;
    const auto is_first_input = [](const Instruction& i) {
      return i.payload == Payload::activation &&
             (i.op == Op::wait_receive || i.op == Op::gather_received) &&
             i.micro_batch().value == 1;
    };
    Instructions moved;
    std::copy_if(own.begin(), own.end(), std::back_inserter(moved), is_first_input);
    own.erase(std::remove_if(own.begin(), own.end(), is_first_input), own.end());
    auto at = first_gather(programs[p], Payload::activation);
    if (p == 5) {
      while (at->op == Op::gather_received || at->op == Op::wait_receive) --at;
    }
    own.insert(at + 1, moved.begin(), moved.end());
  }
  CHECK(find_violation(plan, programs) ==
        "device 5 gathers slices in another order than its group");
}
