#include <algorithm>
#include <utility>

#include "simulate/simulator.hpp"

namespace pptrain {

/// All members of a tensor-parallel group start together.
void Simulator::task(double now, int p) {
  const int group = prices_.of(p, current(p).chunk()).task_group;
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
  const ChunkPrice& chunk = prices_.of(p, instruction.chunk());
  const TaskPrice& price = chunk.task(phase_of(instruction.op));
  SimulatedDevice& device = result_.devices[p];
  ProgramProgress& progress = progress_[p];
  if (instruction.op != Op::backward_weight) {
    take_received(p);
    progress.release(chunk.handed_bytes[instruction.op == Op::forward ? 0 : 1]);
  }
  if (instruction.op == Op::forward)
    device.peak_stored = std::max(device.peak_stored, ++progress.stored);
  progress.store(progress.tasks.start(progress.next, instruction.op, chunk.bytes));
  const double wait = weight_waits_[static_cast<std::size_t>(p)].before(now, instruction, chunk);
  device.busy_seconds += price.busy;
  device.communication_seconds += price.communication + wait;
  occupy(now, p, wait + price.seconds);
}

/// What the chunk gave waits for its neighbour on this device; rows of a tied parameter are copied.
void Simulator::hand_over(int p) {
  const Instruction& instruction = current(p);
  if (instruction.is_tied()) {
    if (!prices_.counts_buffers(p)) return;
    const double bytes = bytes_of(instruction, prices_);
    progress_[p].store(bytes);
    progress_[p].received_bytes += bytes;
    return;
  }
  const bool forwards = instruction.payload == Payload::activation;
  const ChunkId taker(instruction.chunk().value + (forwards ? 1 : 0));
  progress_[p].store(prices_.of(p, taker).handed_bytes[forwards ? 0 : 1]);
}

/// The gradients of a tied parameter's other ends are added; of the sum replicas keep their slices.
/// All that was received for several ties is let go of with the first of them.
void Simulator::add_tied(int p) {
  take_received(p);
  progress_[p].release(prices_.gathered_gradient_bytes(p, current(p).tie().receiving_end));
}

/// What was received becomes part of what the next task, or the sum of tied gradients, holds.
void Simulator::take_received(int p) {
  progress_[p].release(std::exchange(progress_[p].received_bytes, 0.0));
}

void Simulator::occupy(double now, int p, double seconds) {
  SimulatedDevice& device = result_.devices[p];
  ProgramProgress& progress = progress_[p];
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
  const ChunkPrice& chunk = prices_.of(p, instruction.chunk());
  progress_[p].release(progress_[p].tasks.end(instruction.op, chunk.bytes));
  if (instruction.op != Op::backward && instruction.op != Op::backward_weight) return;
  --progress_[p].stored;
  const int number = chunk.reduce_group;
  if (number >= 0 && prices_.reductions()[number].after_each_task) start_reduction(now, p, number);
}

/// A step that takes no time leaves no mark.
void Simulator::step(double now, int p) {
  progress_[p].store(prices_.step_bytes(p));
  progress_[p].release(prices_.step_bytes(p));
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
