#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/interval.hpp"

namespace pptrain {

/// What crosses the cut after a chunk: activations downwards, their gradients upwards.
enum class Payload { activation, gradient };

/// Kinds of instructions. `peer`s are devices of the plan.
enum class Op {
  forward,           ///< F of (chunk, micro_batch)
  backward_input,    ///< B alone
  backward_weight,   ///< W alone
  backward,          ///< B and W in one task
  post_receive,      ///< start receiving `rows` of (payload, chunk, micro_batch) from `peer`; never blocks
  send,              ///< start sending; never blocks, the buffer is released when done
  wait_receive,      ///< until that receive has arrived
  reduce_gradients,  ///< start the all-reduce of the gradients of `chunk` over its replicas
  reduce_tied,       ///< sum the gradients of a parameter held by two stages
  wait_gradients,    ///< until every gradient reduction has ended
  reduce_norm,       ///< squared gradient norm and loss summed over all devices
  step,              ///< optimizer step over everything this device holds
};

std::string to_string(Op op);

/// One instruction. Fields that an op does not need keep their defaults.
///
/// The sample interval `samples` counts within the micro-batch, over all replicas. A transfer's
/// tag is (payload, chunk, micro_batch): `chunk` is the chunk *before* the cut.
struct Instruction {
  Op op = Op::forward;
  ChunkId chunk;
  MicroBatchId micro_batch;
  Payload payload = Payload::activation;
  DeviceId peer;
  Interval samples;
  bool operator==(const Instruction&) const = default;
};

/// "F0.1", "B0.1", "send activation 0.1 -> 3".
std::string to_string(const Instruction& instruction);

/// The instructions of one device, in order.
struct Program {
  DeviceId device;
  StageId stage;
  int replica = 0;
  int shard = 0;
  std::vector<Instruction> instructions;
};

/// Programs of all devices of a plan, in stage order, then replica, then shard.
using Programs = std::vector<Program>;

}  // namespace pptrain
