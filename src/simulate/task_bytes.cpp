#include "simulate/task_bytes.hpp"

#include <utility>

namespace pptrain {
namespace {

bool is_training_task(Op op) {
  return reads_weights(op) ? op != Op::evaluate : op == Op::backward_weight;
}

bool of_same_activations(const Instruction& a, const Instruction& b) {
  return a.task() == b.task();
}

bool begins_backward(Op op) { return op == Op::backward || op == Op::backward_input; }

/// The first instruction behind `i` whose operation is such a one, or null.
const Instruction* next_such(const Program& program, std::size_t i, bool (*is_such)(Op)) {
  for (++i; i < program.instructions.size(); ++i) {
    if (is_such(program.instructions[i].op)) return &program.instructions[i];
  }
  return nullptr;
}

/// A pass over the same chunk in the other direction begins with the layer that this one ends with.
ChunkBytes::Next next_layer(const Program& program, std::size_t i) {
  const Instruction& task = program.instructions[i];
  const Instruction* reader = next_such(program, i, reads_weights);
  if (reader == nullptr) return ChunkBytes::Next::nothing;
  const bool turns =
      reader->chunk() == task.chunk() && begins_backward(reader->op) != begins_backward(task.op);
  return turns ? ChunkBytes::Next::same_layer : ChunkBytes::Next::other_end;
}

}  // namespace

TaskBytes::TaskBytes(const Program& program,
                     const std::function<const ChunkBytes&(ChunkId)>& chunk_of)
    : program_(&program) {
  for (std::size_t i = program.instructions.size(); i-- > 0 && last_reader_ == 0;) {
    if (reads_weights(program.instructions[i].op)) last_reader_ = i;
  }
  for (const Instruction& instruction : program.instructions) {
    if (instruction.op != Op::forward || kept_.count(instruction.chunk().value) > 0) continue;
    const ChunkBytes& chunk = chunk_of(instruction.chunk());
    if (chunk.num_offloaded == 0) break;  // as in all chunks of the stage
    kept_[instruction.chunk().value] = chunk.offloaded;
  }
}

double TaskBytes::start(std::size_t i, Op op, const ChunkBytes& chunk) {
  const double carried = i < last_reader_ ? chunk.carried : 0.0;
  if (!kept_.empty()) return start_offloaded(i, chunk, carried);
  work_ = chunk.work(op, next_layer(*program_, i), summed_, carried) - summed_;
  return work_ + (op == Op::forward ? chunk.stored : 0.0);
}

/// What the last layer of F keeps leaves beside the next task, unless that is its own B; what a B
/// begins with comes beside the task before (`ActivationOffload` of the runtime).
double TaskBytes::start_offloaded(std::size_t i, const ChunkBytes& chunk, double carried) {
  const Instruction& task = program_->instructions[i];
  const Instruction* next = next_such(*program_, i, is_training_task);
  const bool own_follows =
      next != nullptr && begins_backward(next->op) && of_same_activations(task, *next);
  const bool other_follows = next != nullptr && begins_backward(next->op) && !own_follows;
  const double coming = other_follows ? kept_.at(next->chunk().value) : 0.0;
  const double left = task.op == Op::forward ? chunk.offloaded : 0.0;
  leaving_next_ = own_follows ? 0.0 : left;
  held_next_ = left + coming;
  work_ =
      chunk.offloaded_work(task.op, next_layer(*program_, i), summed_, carried, leaving_, coming) -
      summed_;
  return work_ - held_;
}

double TaskBytes::end(Op op, const ChunkBytes& chunk) {
  if (op == Op::evaluate) return work_;
  if (!kept_.empty()) return end_offloaded(op, chunk);
  if (op == Op::forward) return work_;
  if (op == Op::backward_input) return work_ + chunk.stored - chunk.deferred;
  return work_ + (op == Op::backward ? chunk.stored : chunk.deferred) + end_gradients(chunk);
}

double TaskBytes::end_offloaded(Op op, const ChunkBytes& chunk) {
  held_ = held_next_;
  leaving_ = leaving_next_;
  const double given_back = work_ - held_;
  if (op == Op::forward) return given_back;
  if (op == Op::backward_input) return given_back - chunk.deferred;
  return given_back + (op == Op::backward ? 0.0 : chunk.deferred) + end_gradients(chunk);
}

double TaskBytes::end_gradients(const ChunkBytes& chunk) {
  return std::exchange(summed_, chunk.summed) - chunk.summed;
}

double TaskBytes::end_sums() { return std::exchange(summed_, 0.0); }

void TaskBytes::describe(StateRecord& state) const {
  for (const double bytes : {held_, leaving_, held_next_, leaving_next_, work_, summed_})
    state.add_bytes(bytes);
}

}  // namespace pptrain
