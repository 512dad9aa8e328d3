#pragma once

#include "cost/cost.hpp"
#include "plan/parts.hpp"
#include "program/program.hpp"

namespace pptrain {

/// What a chunk holds on one device for one micro-batch, beside the model state.
struct ChunkBytes {
  double stored = 0.0;    ///< from the start of its F to the end of its B
  double deferred = 0.0;  ///< from the end of B to the end of W, where these are apart
  // Beyond that while a task runs.
  double forward_work = 0.0;
  double backward_work = 0.0;         ///< of B and W in one
  double backward_input_work = 0.0;   ///< of B alone
  double backward_weight_work = 0.0;  ///< of W alone

  /// While a task of this op runs.
  double work(Op op) const;
  /// Of what is held from task to task, when a task starts and when it ends.
  double taken_at_start(Op op) const;
  double given_back_at_end(Op op) const;
};

/// Where the bytes of a stage's layers are from.
enum class BytesBasis {
  measured,  ///< the profile says what each holds; what comes and goes in an iteration counts as it does
  modelled,  ///< stored activations as in the memory model, and the profile's workspace all the time
};
/// Modelled where the profile lacks the bytes of one layer on one device.
BytesBasis bytes_basis(const Instance& instance, const StageParts& parts);

/// Of the chunk that `parts` divide, on a device of the stage, counted by row. Measured: with the layers that ZeRO
/// holds whole for a moment. Modelled: work is what the largest layer stores beyond what recomputation keeps of it.
ChunkBytes chunk_bytes(const Instance& instance, const StageParts& parts, int device_of_stage, BytesBasis basis);

}  // namespace pptrain
