#pragma once

#include <algorithm>
#include <cstddef>

#include "simulate/task_bytes.hpp"

namespace pptrain {

/// How far the simulation is with one program.
struct ProgramProgress {
  /// What the program waits for.
  enum class State {
    ready,
    computes,
    awaits_group,
    awaits_transfer,
    awaits_weights,
    awaits_reductions,
    awaits_all,
    ended
  };

  std::size_t next = 0;  ///< instruction
  State state = State::ready;
  double blocked_since = 0.0;
  double stored_bytes = 0.0;  ///< stored activations, and what else comes and goes
  double peak_stored_bytes = 0.0;
  double received_bytes = 0.0;   ///< for the next task
  double reduction_bytes = 0.0;  ///< buffers of the buckets of gradients that were summed last
  double bucket_bytes = 0.0;     ///< of the last one
  TaskBytes tasks;
  int stored = 0;  ///< activations of (micro-batch, chunk)
  int pending_reductions = 0;
  bool started = false;

  /// Counts bytes that the device holds from now on, which may raise the peak.
  void store(double bytes) {
    stored_bytes += bytes;
    peak_stored_bytes = std::max(peak_stored_bytes, stored_bytes);
  }
  /// Counts bytes that the device no longer holds; the peak stays.
  void release(double bytes) { stored_bytes -= bytes; }
};

}  // namespace pptrain
