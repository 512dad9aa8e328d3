#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/interval.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// What a transfer carries: activations across the cut after a chunk, their gradients back across
/// it, or the gradient of a tied parameter, which several layers share.
enum class Payload { activation, gradient, tied_gradient };

/// Kinds of instructions.
enum class Op {
  forward,          ///< F of (chunk, micro_batch); keeps what the backward needs
  evaluate,         ///< F that keeps nothing
  backward_input,   ///< B alone
  backward_weight,  ///< W alone
  backward,         ///< B and W in one task
  post_receive,     ///< start receiving; never blocks
  send,             ///< start sending; never blocks, the buffer is released when done
  wait_receive,     ///< until that receive has arrived
  gather_received,  ///< until all who need the same have each other's slices of it
  hand_over,  ///< what the task before gave is the input of a later task of this device; of a tied
              ///< gradient: what this device has at another end
  gather_parameters,   ///< start bringing the weights of `chunk` from its replicas; never blocks
  release_parameters,  ///< the weights of `chunk` are not needed until they are gathered again
  reduce_gradients,    ///< start the all-reduce of the gradients of `chunk` over its replicas
  wait_gradients,      ///< until every gradient all-reduce has ended
  reduce_tied,         ///< add the other ends' gradients of the tied parameter, which have arrived
  reduce_loss,         ///< sum of the loss over all ranks
  reduce_norm,         ///< squared norm of the gradients summed over all ranks
  step,                ///< optimizer step over everything this device holds
};

std::string to_string(Op op);
/// Whether this is a task that needs the weights of its chunk; W does not.
bool reads_weights(Op op);

/// A task, a chunk with a micro-batch; a transfer at a cut names that of the chunk before the cut.
struct TaskPlace {
  ChunkId chunk = {};
  MicroBatchId micro_batch = {};
  auto operator<=>(const TaskPlace&) const = default;
};

/// Two ends of a tied parameter, by their places in `tie_ends`: one receives the gradient that the
/// other one sends.
struct TiePlace {
  int receiving_end = 0;
  int sending_end = 0;
  auto operator<=>(const TiePlace&) const = default;
};

/// What an instruction is about.
using Place = std::variant<TaskPlace, TiePlace>;

/// One instruction. Fields that an op does not need keep their defaults.
struct Instruction {
  Op op = Op::forward;
  Place place = {};
  Payload payload = Payload::activation;
  DeviceId peer = {};
  Interval interval = {};  ///< samples within the micro-batch, or rows of the tied parameter
  int units = 1;           ///< units of the interval in one sample or row: slices end inside these
  bool operator==(const Instruction&) const = default;

  /// Whether it is about the gradient of a tied parameter.
  bool is_tied() const { return std::holds_alternative<TiePlace>(place); }
  /// The task, or the one before the cut; the instruction is not about a tied gradient.
  const TaskPlace& task() const { return std::get<TaskPlace>(place); }
  /// Chunk of the task.
  ChunkId chunk() const { return task().chunk; }
  /// Micro-batch of the task.
  MicroBatchId micro_batch() const { return task().micro_batch; }
  /// The ends; the instruction is about a tied gradient. One that adds up what has come to an end
  /// has this end as the receiving one alone.
  const TiePlace& tie() const { return std::get<TiePlace>(place); }
};

/// "F0.1", "BW0.1", "send activation 0.1 [0, 2) to device 3".
std::string to_string(const Instruction& instruction);

/// The instructions of one device, in order.
struct Program {
  DeviceId device;
  StageId stage;
  int replica = 0;
  int shard = 0;
  std::vector<Instruction> instructions;
};

/// Devices that need the same and gather slices of it: what crosses a cut, by the tensor-parallel
/// members of a replica (`number` is the replica's); a tied gradient, by the replicas of a shard
/// (the shard's).
struct GatherGroup {
  int number = 0;
  int member = 0;  ///< the device's place in it
  int size = 1;
};
GatherGroup gather_group(const Plan& plan, const Program& program, Payload payload);

/// Programs of all devices of a plan, in stage order, then replica, then shard.
using Programs = std::vector<Program>;

}  // namespace pptrain
