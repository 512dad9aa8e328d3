#include <algorithm>
#include <utility>

#include "simulate/simulator.hpp"

namespace pptrain {

/// What is sent to several devices is held once; rows of a tied parameter are copied.
void Simulator::send(double now, int p) {
  const std::size_t next = progress_[p].next;
  const Instruction& message = current(p);
  const Instruction& before = programs_[p].instructions[next == 0 ? 0 : next - 1];
  const bool again = next > 0 && before.op == Op::send && before.interval == message.interval;
  const bool counts = prices_.counts_buffers(p) && (!again || message.is_tied());
  const double held = counts ? bytes_of(message, prices_) : 0.0;
  progress_[p].store(held);
  deliveries_.send(now, deliveries_.number_of(p, next), held);
}

void Simulator::post(int p) {
  if (prices_.counts_buffers(p)) progress_[p].store(bytes_of(current(p), prices_));
}

bool Simulator::receive(double now, int p) {
  if (prices_.counts_buffers(p)) progress_[p].received_bytes += bytes_of(current(p), prices_);
  Deliveries::Delivery& delivery = deliveries_[deliveries_.number_of(p, progress_[p].next)];
  if (delivery.arrived <= now) return true;
  delivery.waiter = p;
  return block(now, p, State::awaits_transfer);
}

void Simulator::arrive(double now, int number) {
  Deliveries::Delivery& delivery = deliveries_[number];
  delivery.arrived = now;
  const Transfer& what = deliveries_.transfer(number);
  progress_[what.sender].release(delivery.held_bytes);
  record(what.sender, Lane::communication, programs_[what.sender].instructions[what.instruction],
         delivery.started, now);
  if (delivery.waiter < 0) return;
  const int p = delivery.waiter;
  wait_ends(now, p, delivery.started);
  resume(now, p);
}

/// Devices that need the same start together when the last has its slice.
void Simulator::gather_received(double now, int p) {
  block(now, p, State::awaits_group);
  const ReceivedGathers::Group* group = received_gathers_.come(p, current(p).payload);
  if (group == nullptr) return;
  const double bytes = bytes_of(current(p), prices_);
  const double seconds = received_gathers_.seconds(*group, bytes);
  const double of_others = bytes - bytes / static_cast<double>(group->devices.size());
  for (const int member : group->programs) {
    if (prices_.counts_buffers(member)) {
      progress_[member].store(of_others);
      progress_[member].received_bytes += of_others;
    }
    result_.devices[member].communication_seconds += seconds;
    record(member, Lane::communication, current(member), now, now + seconds);
    events_.push(now + seconds, Event::Kind::resume, member);
  }
}

/// Time that a program was blocked is communication as far as its data was under way.
void Simulator::wait_ends(double now, int p, double under_way_since) {
  result_.devices[p].communication_seconds +=
      now - std::max(progress_[p].blocked_since, under_way_since);
}

char& Simulator::weights_of(int p, ChunkId chunk) {
  return has_weights_[static_cast<std::size_t>(p) * static_cast<std::size_t>(prices_.num_chunks()) +
                      chunk.index()];
}

/// Whether the weights that the task needs are there; blocks until they come.
bool Simulator::has_weights(double now, int p) {
  const Instruction& task = current(p);
  const bool needs =
      prices_.of(p, task.chunk()).gather_group >= 0 && task.op != Op::backward_weight;
  return !needs || weights_of(p, task.chunk()) != 0 || block(now, p, State::awaits_weights);
}

void Simulator::gather(double now, int p) {
  const ChunkPrice& price = prices_.of(p, current(p).chunk());
  progress_[p].store(price.gathered_bytes);
  if (price.gather_group >= 0) collectives_.come(now, p, price.gather_group);
}

void Simulator::release(int p) {
  progress_[p].release(prices_.of(p, current(p).chunk()).gathered_bytes);
  weights_of(p, current(p).chunk()) = 0;
}

void Simulator::weights_come(double now, int p, ChunkId chunk, double started) {
  weights_of(p, chunk) = 1;
  if (progress_[p].state != State::awaits_weights || current(p).chunk() != chunk) return;
  wait_ends(now, p, started);
  advance(now, p);
}

void Simulator::reduce(double now, int p) {
  const ChunkPrice& chunk = prices_.of(p, current(p).chunk());
  const int number = chunk.reduce_group;
  if (number >= 0 && prices_.reductions()[number].at_end) start_reduction(now, p, number);
  if (chunk.across_group >= 0) start_reduction(now, p, chunk.across_group);
}

void Simulator::start_reduction(double now, int p, int number) {
  ProgramProgress& progress = progress_[p];
  ++progress.pending_reductions;
  hold_buckets(p, prices_.reductions()[number]);
  collectives_.come(now, p, number);
}

/// Two buckets keep their buffers, those of the chunk before included.
void Simulator::hold_buckets(int p, const PricedCollective& sum) {
  if (sum.buffer_bytes == 0.0) return;
  ProgramProgress& progress = progress_[p];
  const double two = 2.0 * std::max(progress.bucket_bytes, sum.bucket_bytes);
  const double held = std::min(two, progress.bucket_bytes + sum.buffer_bytes);
  progress.store(held - progress.reduction_bytes);
  progress.reduction_bytes = held;
  progress.bucket_bytes = sum.bucket_bytes;
}

/// Nothing more is held until all sums have ended.
bool Simulator::wait_gradients(double now, int p) {
  ProgramProgress& progress = progress_[p];
  progress.release(progress.tasks.end_sums() + std::exchange(progress.reduction_bytes, 0.0));
  progress.bucket_bytes = 0.0;
  progress.store(prices_.gathered_gradient_bytes(p));
  return progress.pending_reductions == 0 || block(now, p, State::awaits_reductions);
}

/// The last byte of a message or of a collective is on its way.
void Simulator::left(double now, int number) {
  if (number >= deliveries_.num()) return end_collective(now, number - deliveries_.num());
  if (deliveries_.leave(now, number)) arrive(now, number);
}

void Simulator::end_collective(double now, int index) {
  const Collectives::Running running = collectives_.end(now, index);
  const PricedCollective& what = prices_.reductions()[running.number];
  const double started = running.started;
  const bool gathers = what.kind == PricedCollective::Kind::weights;
  for (const int p : what.programs) {
    const Op op = gathers ? Op::gather_parameters : Op::reduce_gradients;
    record(p, Lane::communication, {op, TaskPlace{what.chunk}}, started, now);
    if (gathers) {
      weights_come(now, p, what.chunk, started);
      continue;
    }
    const int left = --progress_[p].pending_reductions;
    if (progress_[p].state != State::awaits_reductions) continue;
    wait_ends(now, p, started);
    if (left == 0) resume(now, p);
  }
}

}  // namespace pptrain
