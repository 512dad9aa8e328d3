#include "simulate/transfers.hpp"

#include "cost/instances.hpp"
#include "schedule/schedule.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Two layers on one and two replicas with a cut of 10 bytes per sample, two micro-batches of three
/// samples, of which the second replica has one.
struct OneToTwo {
  Profile profile = two_layers(10.0);
  Cluster cluster = nodes_of(1, 3);
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 6, 3, "gpipe");
  Programs programs;

  OneToTwo() {
    plan.stages[1].replicas = 2;
    plan.stages[1].devices = {{DeviceId(1)}, {DeviceId(2)}};
    plan.stages[1].samples = {{0, 2}, {2, 3}};
    programs = compile_training(plan, task_orders(plan), {});
  }
  Prices prices() const { return Prices({profile, cluster, 6}, plan, programs); }

  /// Numbers of the transfers of a program's instructions of this kind.
  std::vector<int> numbers(const Transfers& transfers, int program, Op op) const {
    std::vector<int> all;
    const std::vector<Instruction>& instructions =
        programs[static_cast<std::size_t>(program)].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].op == op) all.push_back(transfers.of(program, i));
    }
    return all;
  }
};

int way(DeviceId from, DeviceId to) { return 10 * from.value + to.value; }

TEST_CASE("a receive has the number of its send", "[simulate]") {
  const OneToTwo made;
  const Transfers transfers(made.programs, made.prices(), way);
  REQUIRE(transfers.all().size() == 8);  // two micro-batches, two replicas, there and back
  const std::vector<int> sent = made.numbers(transfers, 0, Op::send);
  REQUIRE(sent.size() == 4);
  for (const int replica : {1, 2}) {
    const std::vector<int> received = made.numbers(transfers, replica, Op::wait_receive);
    REQUIRE(received.size() == 2);
    for (const int m : {0, 1}) {
      CHECK(received[m] == sent[2 * m + replica - 1]);
      const Transfer& transfer = transfers.all()[static_cast<std::size_t>(received[m])];
      CHECK(transfer.bytes == (replica == 1 ? 20.0 : 10.0));
      CHECK(transfer.route == replica);
      CHECK(transfer.sender == 0);
    }
    const int back = made.numbers(transfers, replica, Op::send).front();
    CHECK(transfers.all()[static_cast<std::size_t>(back)].route == 10 * replica);
    CHECK(transfers.all()[static_cast<std::size_t>(back)].sender == replica);
  }
  CHECK(made.numbers(transfers, 0, Op::forward) == std::vector<int>{-1, -1});
}

TEST_CASE("gradients of a cut and tied gradients on one way are transfers of their own",
          "[simulate]") {
  OneToTwo made;
  Instance instance = {made.profile, made.cluster, 6};
  instance.ties = {{"table", {0, 1}, "vocabulary", 100, 4.0}};
  made.programs = compile_training(made.plan, task_orders(made.plan), {instance.ties});
  const Transfers transfers(made.programs, Prices(instance, made.plan, made.programs), way);
  // Beside 8 of the cut: the table's gradient to each of two replicas, and back from one of them.
  CHECK(transfers.all().size() == 8 + 3);
}

TEST_CASE("on a way that stands for many the sends of a micro-batch are one transfer",
          "[simulate]") {
  const OneToTwo made;
  const Transfers transfers(made.programs, made.prices(),
                            [](DeviceId from, DeviceId) { return from.value == 0 ? 0 : 1; });
  const std::vector<int> sent = made.numbers(transfers, 0, Op::send);
  CHECK(sent == std::vector<int>{sent[0], sent[0], sent[2], sent[2]});
  CHECK(sent[0] != sent[2]);
  CHECK(made.numbers(transfers, 2, Op::wait_receive) == std::vector<int>{sent[0], sent[2]});
}

TEST_CASE("bytes of a transfer are those of its samples, rows or parts of them", "[simulate]") {
  OneToTwo made;
  Instance instance = {made.profile, made.cluster, 6};
  instance.ties = {{"table", {0, 1}, "vocabulary", 100, 4.0}};
  const Prices prices(instance, made.plan, made.programs);
  Instruction instruction;
  instruction.op = Op::send;
  instruction.place = TaskPlace{ChunkId(0)};
  instruction.interval = {1, 3};
  CHECK(bytes_of(instruction, prices) == 20.0);
  instruction.units = 4;  // two quarters of a sample
  CHECK(bytes_of(instruction, prices) == 5.0);
  instruction.place = TiePlace{0, 1};
  CHECK(bytes_of(instruction, prices) == 2.0);
}

}  // namespace
}  // namespace pptrain
