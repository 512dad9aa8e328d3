#include "simulate/task_bytes.hpp"

#include <utility>

namespace pptrain {

TaskBytes::TaskBytes(const Program& program) {
  for (std::size_t i = program.instructions.size(); i-- > 0 && last_reader_ == 0;) {
    if (reads_weights(program.instructions[i].op)) last_reader_ = i;
  }
}

double TaskBytes::start(std::size_t i, Op op, const ChunkBytes& chunk) {
  work_ = chunk.work(op, summed_, i < last_reader_ ? chunk.carried : 0.0) - summed_;
  if (op == Op::backward || op == Op::backward_weight) {
    if (chunk.opens > 0.0) work_ -= open_;  // among the gradients that it works on
    if (chunk.closes > 0.0) work_ += chunk.closes - open_;
  }
  return work_ + (op == Op::forward ? chunk.stored : 0.0);
}

double TaskBytes::end(Op op, const ChunkBytes& chunk) {
  if (op == Op::forward || op == Op::evaluate) return work_;
  if (op == Op::backward_input) return work_ + chunk.stored - chunk.deferred;
  double given_back = work_ + (op == Op::backward ? chunk.stored : chunk.deferred);
  given_back += std::exchange(summed_, chunk.summed) - chunk.summed;
  if (chunk.opens > 0.0 || chunk.closes > 0.0) given_back += std::exchange(open_, chunk.opens) - chunk.opens;
  return given_back;
}

double TaskBytes::end_sums() { return std::exchange(summed_, 0.0) + std::exchange(open_, 0.0); }

}  // namespace pptrain
