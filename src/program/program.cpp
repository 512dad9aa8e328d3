#include "program/program.hpp"

#include <fmt/format.h>

namespace pptrain {
namespace {

std::string_view name_of(Payload payload) {
  switch (payload) {
    case Payload::activation: return "activation";
    case Payload::gradient: return "gradient";
    case Payload::tied_gradient: return "tied gradient";
  }
  return "";
}

/// "[0, 2)", or where slices end inside a sample or row "[0/3, 2/3)".
std::string range_of(const Instruction& i) {
  const std::string units = i.units == 1 ? "" : fmt::format("/{}", i.units);
  return fmt::format("[{}{}, {}{})", i.interval.begin, units, i.interval.end, units);
}

/// Chunk and micro-batch, "0.1"; receiving and sending end.
std::string to_string(const Place& place) {
  if (const auto* tie = std::get_if<TiePlace>(&place))
    return fmt::format("{}.{}", tie->receiving_end, tie->sending_end);
  const auto& task = std::get<TaskPlace>(place);
  return fmt::format("{}.{}", task.chunk.value, task.micro_batch.value);
}

}  // namespace

bool reads_weights(Op op) {
  return op == Op::forward || op == Op::evaluate || op == Op::backward_input || op == Op::backward;
}

std::string to_string(Op op) {
  switch (op) {
    case Op::forward: return "F";
    case Op::evaluate: return "E";
    case Op::backward_input: return "B";
    case Op::backward_weight: return "W";
    case Op::backward: return "BW";
    case Op::post_receive: return "post receive";
    case Op::send: return "send";
    case Op::wait_receive: return "wait for";
    case Op::gather_received: return "gather received";
    case Op::hand_over: return "hand over";
    case Op::gather_parameters: return "gather parameters";
    case Op::release_parameters: return "release parameters";
    case Op::reduce_gradients: return "all-reduce gradients";
    case Op::wait_gradients: return "wait for gradients";
    case Op::reduce_tied: return "add tied gradients";
    case Op::reduce_loss: return "sum loss";
    case Op::reduce_norm: return "sum gradient norm";
    case Op::step: return "optimizer step";
  }
  return "";
}

GatherGroup gather_group(const Plan& plan, const Program& program, Payload payload) {
  const Stage& stage = plan.stages[program.stage.index()];
  if (payload == Payload::tied_gradient) return {program.shard, program.replica, stage.replicas};
  return {program.replica, program.shard, stage.tensor_parallel};
}

std::string to_string(const Instruction& instruction) {
  const Instruction& i = instruction;
  switch (i.op) {
    case Op::forward:
    case Op::evaluate:
    case Op::backward_input:
    case Op::backward_weight:
    case Op::backward: return to_string(i.op) + to_string(i.place);
    case Op::post_receive:
    case Op::wait_receive:
    case Op::send:
      return fmt::format("{} {} {} {} {} device {}", to_string(i.op), name_of(i.payload),
                         to_string(i.place), range_of(i), i.op == Op::send ? "to" : "from",
                         i.peer.value);
    case Op::gather_received:
    case Op::hand_over:
      return fmt::format("{} {} {}", to_string(i.op), name_of(i.payload), to_string(i.place));
    case Op::gather_parameters:
    case Op::release_parameters:
    case Op::reduce_gradients:
      return fmt::format("{} of chunk {}", to_string(i.op), i.chunk().value);
    default: return to_string(i.op);
  }
}

}  // namespace pptrain
