#include <algorithm>

#include "simulate/simulator.hpp"

namespace pptrain {

void Simulator::send(double now, int p) { deliveries_.send(now, deliveries_.number_of(p, progress_[p].next)); }

bool Simulator::receive(double now, int p) {
  Deliveries::Delivery& delivery = deliveries_[deliveries_.number_of(p, progress_[p].next)];
  if (delivery.arrived <= now) return true;
  delivery.waiter = p;
  return block(now, p, State::awaits_transfer);
}

void Simulator::arrive(double now, int number) {
  Deliveries::Delivery& delivery = deliveries_[number];
  delivery.arrived = now;
  const Transfer& what = deliveries_.transfer(number);
  record(what.sender, Lane::communication, programs_[what.sender].instructions[what.instruction], delivery.started,
         now);
  if (delivery.waiter < 0) return;
  const int p = delivery.waiter;
  wait_ends(now, p, delivery.started);
  resume(now, p);
}

/// Those who need the same start together when the last has its slice.
void Simulator::gather_received(double now, int p) {
  block(now, p, State::awaits_group);
  const ReceivedGathers::Group* group = received_gathers_.come(p, current(p).payload);
  if (group == nullptr) return;
  const double seconds = received_gathers_.seconds(*group, bytes_of(current(p), prices_, tied_row_bytes_));
  for (const int member : group->programs) {
    result_.devices[member].communication_seconds += seconds;
    record(member, Lane::communication, current(member), now, now + seconds);
    events_.push(now + seconds, Event::Kind::resume, member);
  }
}

/// Of the time that a program was blocked, that in which its data was under way is communication.
void Simulator::wait_ends(double now, int p, double under_way_since) {
  result_.devices[p].communication_seconds += now - std::max(progress_[p].blocked_since, under_way_since);
}

char& Simulator::weights_of(int p, ChunkId chunk) {
  return has_weights_[static_cast<std::size_t>(p * prices_.num_chunks() + chunk.value)];
}

/// Whether the weights that the task needs are there; blocks until they come.
bool Simulator::has_weights(double now, int p) {
  const Instruction& task = current(p);
  const bool needs = prices_.of(p, task.chunk).gather_group >= 0 && task.op != Op::backward_weight;
  return !needs || weights_of(p, task.chunk) != 0 || block(now, p, State::awaits_weights);
}

void Simulator::gather(double now, int p) {
  const ChunkPrice& price = prices_.of(p, current(p).chunk);
  progress_[p].store(price.gathered_bytes);
  if (price.gather_group >= 0) collective(now, p, price.gather_group);
}

void Simulator::release(int p) {
  progress_[p].release(prices_.of(p, current(p).chunk).gathered_bytes);
  weights_of(p, current(p).chunk) = 0;
}

void Simulator::weights_come(double now, int p, ChunkId chunk, double started) {
  weights_of(p, chunk) = 1;
  if (progress_[p].state != State::awaits_weights || current(p).chunk != chunk) return;
  wait_ends(now, p, started);
  advance(now, p);
}

void Simulator::reduce(double now, int p) {
  const ChunkPrice& chunk = prices_.of(p, current(p).chunk);
  const int number = chunk.reduce_group;
  if (number >= 0 && prices_.reductions()[number].at_end) start_reduction(now, p, number);
  if (chunk.across_group >= 0) start_reduction(now, p, chunk.across_group);
}

void Simulator::start_reduction(double now, int p, int number) {
  ++progress_[p].pending_reductions;
  collective(now, p, number);
}

void Simulator::collective(double now, int p, int number) {
  const auto running = collectives_.come(now, p, number);
  if (!running) return;
  const PricedCollective& what = prices_.reductions()[number];
  const Op op = what.kind == PricedCollective::Kind::weights ? Op::gather_parameters : Op::reduce_gradients;
  for (const int member : what.programs) {
    record(member, Lane::communication, {op, what.chunk}, running->started, running->ends);
  }
}

void Simulator::end_reduction(double now, const Collectives::Running& running) {
  const PricedCollective& what = prices_.reductions()[running.number];
  const double started = running.started;  // more may begin to run
  for (const int p : what.programs) {
    if (what.kind == PricedCollective::Kind::weights) {
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
