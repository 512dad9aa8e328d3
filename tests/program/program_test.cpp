#include "program/program.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

Instruction instruction(Op op, int chunk, int micro_batch) {
  return {op, TaskPlace{ChunkId(chunk), MicroBatchId(micro_batch)}};
}

TEST_CASE("instructions read as tasks, or as what is sent to whom", "[program]") {
  CHECK(to_string(instruction(Op::forward, 0, 1)) == "F0.1");
  CHECK(to_string(instruction(Op::backward, 2, 13)) == "BW2.13");
  CHECK(to_string(instruction(Op::backward_input, 0, 1)) == "B0.1");
  CHECK(to_string(instruction(Op::backward_weight, 0, 1)) == "W0.1");
  Instruction transfer = instruction(Op::send, 0, 1);
  transfer.interval = {0, 2};
  transfer.peer = DeviceId(3);
  CHECK(to_string(transfer) == "send activation 0.1 [0, 2) to device 3");
  transfer.op = Op::wait_receive;
  transfer.payload = Payload::gradient;
  transfer.units = 3;
  CHECK(to_string(transfer) == "wait for gradient 0.1 [0/3, 2/3) from device 3");
  CHECK(to_string(instruction(Op::hand_over, 1, 0)) == "hand over activation 1.0");
  CHECK(to_string(instruction(Op::reduce_gradients, 4, -1)) == "all-reduce gradients of chunk 4");
  CHECK(to_string(instruction(Op::step, -1, -1)) == "optimizer step");
}

TEST_CASE("all passes but W read weights", "[program]") {
  for (const Op op : {Op::forward, Op::evaluate, Op::backward_input, Op::backward})
    CHECK(reads_weights(op));
  for (const Op op : {Op::backward_weight, Op::gather_parameters, Op::step})
    CHECK_FALSE(reads_weights(op));
}

TEST_CASE("transfers of tied gradients have ends in place of a chunk and a micro-batch",
          "[program]") {
  const Instruction at_cut = instruction(Op::send, 1, 4);
  CHECK_FALSE(at_cut.is_tied());
  CHECK(at_cut.chunk() == ChunkId(1));
  CHECK(at_cut.micro_batch() == MicroBatchId(4));
  CHECK_THROWS(at_cut.tie());
  Instruction transfer = {Op::send, TiePlace{2, 5}, Payload::tied_gradient, DeviceId(3), {0, 2}};
  CHECK(transfer.is_tied());
  CHECK(transfer.tie() == TiePlace{2, 5});
  CHECK(to_string(transfer) == "send tied gradient 2.5 [0, 2) to device 3");
  CHECK_THROWS(transfer.chunk());
  transfer.place = TiePlace{5, 2};
  CHECK(transfer.tie().receiving_end == 5);
}

TEST_CASE("members of a replica gather what crosses a cut, replicas of a shard a tied gradient",
          "[program]") {
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 3, 2, 6, 6, "1f1b");
  Program program;
  program.stage = StageId(1);
  program.replica = 2;
  program.shard = 1;
  for (const Payload payload : {Payload::activation, Payload::gradient}) {
    const GatherGroup members = gather_group(plan, program, payload);
    CHECK(members.number == 2);
    CHECK(members.member == 1);
    CHECK(members.size == 2);
  }
  const GatherGroup replicas = gather_group(plan, program, Payload::tied_gradient);
  CHECK(replicas.number == 1);
  CHECK(replicas.member == 2);
  CHECK(replicas.size == 3);
}

}  // namespace
}  // namespace pptrain
