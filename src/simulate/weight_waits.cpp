#include "simulate/weight_waits.hpp"

#include <algorithm>

namespace pptrain {

double WeightWaits::before(double now, const Instruction& task, const ChunkPrice& chunk) {
  return chunk.gathers_layers ? for_layer(now, task, chunk) : for_publication(now, task, chunk);
}

/// The first layer's weights begin to come beside the last layer of the task before. They are here
/// where that task ends with this layer: B after F, F after B, or a chunk of one layer.
double WeightWaits::for_layer(double now, const Instruction& task, const ChunkPrice& chunk) {
  if (task.op == Op::backward_weight) return 0.0;
  const TaskPrice& price = chunk.task(phase_of(task.op));
  const Pass pass = task.op == Op::forward ? Pass::forward : Pass::backward;
  const bool comes = last_pass_ == Pass::none || (last_pass_ == pass && chunk.num_layers > 1);
  const double wait = comes ? std::max(0.0, next_gather_ + price.first_gather - now) : 0.0;
  last_pass_ = pass;
  next_gather_ = now + wait + price.seconds - price.last_layer;
  return wait;
}

/// The weights of a chunk's first F come from the step before the iteration.
double WeightWaits::for_publication(double now, const Instruction& task, const ChunkPrice& chunk) {
  if (chunk.published_end <= 0.0 || task.op != Op::forward ||
      !started_.insert(task.chunk().value).second)
    return 0.0;
  return std::max(0.0, chunk.published_end - now - chunk.task(Phase::forward).seconds);
}

void WeightWaits::describe(double now, StateRecord& state) const {
  state.add_count(static_cast<std::int64_t>(last_pass_));
  state.add_count(std::ssize(started_));
  state.add_seconds(last_pass_ == Pass::none ? 0.0 : next_gather_ - now);
}

}  // namespace pptrain
