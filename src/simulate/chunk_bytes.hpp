#pragma once

#include <array>

#include "cost/cost.hpp"
#include "plan/parts.hpp"
#include "program/program.hpp"

namespace pptrain {

/// What a chunk holds on one device for one micro-batch, beside the model state.
struct ChunkBytes {
  double stored = 0.0;    ///< from the start of its F to the end of its B
  double deferred = 0.0;  ///< from the end of B to the end of W, where these are apart
  double carried = 0.0;   ///< from a task to the next that reads weights: those that it begins with
  double summed = 0.0;    ///< from the end of W to the next W of the device: gradients that ZeRO
                          ///< stage 2 or 3 sums
  // Where activations are offloaded, `stored` is 0 and works have what is there of them.
  double offloaded = 0.0;  ///< what the last layer keeps: it leaves behind F, and B begins with it
  int num_offloaded = 0;   ///< layers; 0: nothing is offloaded

  /// What a task with a W uses: beside what the W before left, until its first gradients are
  /// complete, and after.
  struct Weighting {
    double first = 0.0;
    double rest = 0.0;
  };
  /// What is there in a pass whose activations are offloaded: in the layer that runs first, and in
  /// the last one.
  struct Ends {
    double first = 0.0;
    double last = 0.0;
  };
  /// What is in use beyond that while a task runs.
  struct Works {
    double forward = 0.0;
    double backward_input = 0.0;  ///< of B alone
    Weighting backward;           ///< of B and W in one
    Weighting backward_weight;    ///< of W alone
    Ends offloaded_forward;
    Ends offloaded_backward_input;
    Ends offloaded_backward;
  };
  /// What the next task that reads weights begins with; ZeRO gathers it beside the last layer of a
  /// task.
  enum class Next {
    nothing,     ///< no task follows
    same_layer,  ///< the layer that this task ends with
    other_end    ///< the layer at the other end of the chunk
  };
  std::array<Works, 3> works;  ///< by what is next

  /// Bytes in use while a task of this op runs, with what the W before left; `carried_on`: where
  /// another task follows that reads weights.
  double work(Op op, Next next, double summed_before, double carried_on) const;
  /// Bytes in use while a task of this op runs whose activations are offloaded, with `leaving` from
  /// the task before until its first layer has run, and `coming` for the next one from its last
  /// layer on.
  double offloaded_work(Op op, Next next, double summed_before, double carried_on, double leaving,
                        double coming) const;
};

/// Where the bytes of a stage's layers are from.
enum class BytesBasis {
  measured,  ///< the profile says what each holds; what comes and goes in an iteration counts as it
             ///< does
  modelled,  ///< stored activations as in the memory model, and the profile's workspace all the
             ///< time
};
/// Modelled where the profile lacks the bytes of one layer on one of the first `num_devices`
/// devices of the stage.
BytesBasis bytes_basis(const Instance& instance, const StageParts& parts, int num_devices);

/// Bytes of the chunk that `parts` divide on a device of the stage, row by row. Measured: with the
/// layers that ZeRO holds whole for a moment. Modelled: work is what the largest layer stores
/// beyond what recomputation keeps of it.
ChunkBytes chunk_bytes(const Instance& instance, const StageParts& parts, int device_of_stage,
                       BytesBasis basis);

}  // namespace pptrain
