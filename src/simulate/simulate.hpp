#pragma once

#include <vector>

#include "cost/cost.hpp"
#include "program/program.hpp"
#include "program/trace.hpp"

namespace pptrain {

/// Whether a simulation keeps every event or only the sums.
enum class Recording { sums, events };

struct SimulateOptions {
  Recording recording = Recording::sums;
};

/// One device of the plan. Busy, communication and idle add up to the makespan.
struct SimulatedDevice {
  DeviceId device;
  double busy_seconds = 0.0;           ///< it computes
  double communication_seconds = 0.0;  ///< it waits for data that is under way, or takes part in
                                       ///< collectives of a task
  double idle_seconds = 0.0;           ///< it waits for anything else
  double first_start_seconds = 0.0;    ///< of its tasks
  double last_end_seconds = 0.0;       ///< of its tasks, and of an optimizer step that takes time
  double peak_bytes = 0.0;  ///< weights, gradients, optimizer state, workspace and stored
                            ///< activations
  int peak_stored = 0;  ///< most (micro-batch, chunk) activations between start of F and end of W
};

struct Simulation {
  double makespan_seconds = 0.0;
  std::vector<SimulatedDevice> devices;  ///< as the programs: in stage order, then replica, then
                                         ///< shard
  Trace trace;                           ///< empty unless events are recorded

  /// 1 - sum busy / (devices x makespan).
  double bubble_fraction() const;
};

/// Executes the programs of a plan, which pass the checker, against profile and cluster.
///
/// Tasks take what `cost` says; members of a tensor-parallel group start together. Sends never
/// block; a transfer starts when it is sent, its bytes share the links on their way with others
/// (Network), and it arrives the latency after its last byte has left. Gradient all-reduces run
/// beside computation, those of the same devices one after another. Sums over all devices (loss,
/// norm) wait for all and take no time.
Simulation simulate(const Instance& instance, const Plan& plan, const Programs& programs,
                    const SimulateOptions& options = {});

}  // namespace pptrain
