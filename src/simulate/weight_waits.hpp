#pragma once

#include <set>

#include "program/program.hpp"
#include "simulate/prices.hpp"
#include "simulate/state_record.hpp"

namespace pptrain {

/// How long the tasks of one program wait in one iteration for weights that ZeRO divides, where no
/// instruction gathers them: those of the first layer, as the others' are in the prices of tasks.
class WeightWaits {
 public:
  /// How long a task waits that could start `now` seconds into the iteration; to be asked once for
  /// each, in order.
  double before(double now, const Instruction& task, const ChunkPrice& chunk);

  /// Adds what later waits depend on.
  void describe(double now, StateRecord& state) const;

 private:
  /// The last task that read weights which are gathered layer by layer.
  enum class Pass { none, forward, backward };

  double for_layer(double now, const Instruction& task, const ChunkPrice& chunk);
  double for_publication(double now, const Instruction& task, const ChunkPrice& chunk);

  Pass last_pass_ = Pass::none;
  double next_gather_ = 0.0;  ///< start of its last layer, when the next task's first one begins to
                              ///< come
  std::set<int> started_;     ///< chunks whose weights from the step before were waited for
};

}  // namespace pptrain
