#include <algorithm>

#include "simulate/simulator.hpp"

namespace pptrain {
namespace {

bool runs_backward(Op op) { return op == Op::backward || op == Op::backward_input; }

}  // namespace

/// All members of a tensor-parallel group start together.
void Simulator::task(double now, int p) {
  const int group = prices_.of(p, current(p).chunk).task_group;
  if (group < 0) {
    start_task(now, p);
    return;
  }
  block(now, p, State::awaits_group);
  const std::vector<int>& members = prices_.task_groups()[group];
  if (++group_arrived_[group] < static_cast<int>(members.size())) return;
  group_arrived_[group] = 0;
  for (const int member : members) start_task(now, member);
}

void Simulator::start_task(double now, int p) {
  const Instruction& instruction = current(p);
  const ChunkPrice& chunk = prices_.of(p, instruction.chunk);
  const TaskPrice& price = chunk.task(phase_of(instruction.op));
  SimulatedDevice& device = result_.devices[p];
  Progress& progress = progress_[p];
  if (instruction.op == Op::forward) {
    progress.store(chunk.stored_bytes);
    device.peak_stored = std::max(device.peak_stored, ++progress.stored);
  }
  if (runs_backward(instruction.op)) progress.store(chunk.in_work_bytes);
  const double wait = weight_waits_[static_cast<std::size_t>(p)].before(now, instruction, chunk);
  device.busy_seconds += price.busy;
  device.communication_seconds += price.communication + wait;
  occupy(now, p, wait + price.seconds);
}

void Simulator::occupy(double now, int p, double seconds) {
  SimulatedDevice& device = result_.devices[p];
  Progress& progress = progress_[p];
  if (!progress.started) device.first_start_seconds = now;
  progress.started = true;
  progress.state = State::computes;
  device.last_end_seconds = now + seconds;
  record(p, Lane::compute, current(p), now, now + seconds);
  events_.push(now + seconds, Event::Kind::resume, p);
}

void Simulator::end_task(double now, int p) {
  const Instruction& instruction = current(p);
  if (!is_task(instruction.op)) return;
  const ChunkPrice& chunk = prices_.of(p, instruction.chunk);
  if (runs_backward(instruction.op)) progress_[p].release(chunk.in_work_bytes);
  if (instruction.op != Op::backward && instruction.op != Op::backward_weight) return;
  progress_[p].release(chunk.stored_bytes);
  --progress_[p].stored;
  const int number = chunk.reduce_group;
  if (number >= 0 && prices_.reductions()[number].after_each_task) start_reduction(now, p, number);
}

/// A step that takes no time leaves no mark.
void Simulator::step(double now, int p) {
  const double seconds = prices_.step_seconds(p);
  if (seconds > 0.0) {
    result_.devices[p].busy_seconds += seconds;
    occupy(now, p, seconds);
  } else {
    block(now, p, State::awaits_all);
    events_.push(now, Event::Kind::resume, p);
  }
}

}  // namespace pptrain
