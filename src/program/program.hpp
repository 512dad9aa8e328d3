#pragma once

#include <cstdint>
#include <string>
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

/// One instruction. Fields that an op does not need keep their defaults.
struct Instruction {
  Op op = Op::forward;
  ChunkId chunk = {};  ///< of a transfer: the chunk before the cut
  MicroBatchId micro_batch = {};
  Payload payload = Payload::activation;
  DeviceId peer = {};
  Interval interval = {};  ///< samples within the micro-batch, or rows of the tied parameter, or
                           ///< parts of them:
  int units = 1;           ///< ... units of the interval in one sample or row
  bool operator==(const Instruction&) const = default;

  /// Whether it is about the gradient of a tied parameter, which lies at two ends in place of a
  /// chunk and a micro-batch.
  bool is_tied() const { return payload == Payload::tied_gradient || op == Op::reduce_tied; }
  /// Then: the end (`tie_ends`) that receives, or that adds up what it has received.
  int receiving_end() const { return chunk.value; }
  /// Then, of a transfer: the end that sends.
  int sending_end() const { return micro_batch.value; }
  /// Makes a transfer one between these ends.
  void set_ends(int receiving, int sending) {
    chunk = ChunkId(receiving), micro_batch = MicroBatchId(sending);
  }
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
/// members of a replica
/// (`number` is the replica's); a tied gradient, by the replicas of a shard (the shard's).
struct GatherGroup {
  int number = 0;
  int member = 0;  ///< the device's place in it
  int size = 1;
};
GatherGroup gather_group(const Plan& plan, const Program& program, Payload payload);

/// Programs of all devices of a plan, in stage order, then replica, then shard.
using Programs = std::vector<Program>;

}  // namespace pptrain
