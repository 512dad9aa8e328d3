#include "simulate/simulator.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {

Simulator::Simulator(const Programs& programs, Prices prices, const SimulatedRoutes& routes,
                     ReceivedGathers received_gathers, Network& network,
                     const SimulateOptions& options)
    : programs_(programs),
      recording_(options.recording),
      prices_(std::move(prices)),
      events_(network.events()),
      network_(network),
      deliveries_(Transfers(programs, prices_, routes.of_way), network, events_),
      collectives_(prices_.reductions(), prices_.num_lanes(), routes.of_collectives,
                   deliveries_.num(), network, events_),
      received_gathers_(std::move(received_gathers)),
      progress_(programs.size()),
      group_arrived_(prices_.task_groups().size(), 0),
      has_weights_(programs.size() * static_cast<std::size_t>(prices_.num_chunks()), 0),
      weight_waits_(programs.size()) {
  for (const Program& program : programs) {
    result_.devices.emplace_back();
    result_.devices.back().device = program.device;
    const int p = static_cast<int>(result_.devices.size()) - 1;
    progress_[p].tasks = TaskBytes(
        program, [&](ChunkId chunk) -> const ChunkBytes& { return prices_.of(p, chunk).bytes; });
  }
}

Simulation Simulator::run(RepetitionWatch* watch) {
  for (int p = 0; p < num_programs(); ++p) events_.push(0.0, Event::Kind::resume, p);
  while (!events_.empty()) {
    const Event event = events_.pop();
    handle(event);
    if (watch != nullptr && watch->wants(progress_.front().next)) show_state(event.time, *watch);
  }
  for (int p = 0; p < num_programs(); ++p) finish(p);
  return std::move(result_);
}

void Simulator::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::resume: resume(event.time, event.index); break;
    case Event::Kind::flow_end:
    case Event::Kind::share:
      if (const int number = network_.handle(event); number >= 0) left(event.time, number);
      break;
    case Event::Kind::arrival: arrive(event.time, event.index); break;
    case Event::Kind::reduction_end: end_collective(event.time, event.index); break;
  }
}

void Simulator::resume(double now, int p) {
  if (progress_[p].state == State::computes) end_task(now, p);
  if (progress_[p].state != State::ready) ++progress_[p].next;
  advance(now, p);
}

/// Executes instructions until one takes time or waits.
void Simulator::advance(double now, int p) {
  ProgramProgress& progress = progress_[p];
  progress.state = State::ready;
  const std::size_t end = programs_[p].instructions.size();
  while (progress.next < end && execute(now, p)) ++progress.next;
  if (progress.next < end) return;
  progress.state = State::ended;
  result_.makespan_seconds = std::max(result_.makespan_seconds, now);
}

/// Returns whether the instruction is done at once.
bool Simulator::execute(double now, int p) {
  switch (current(p).op) {
    case Op::forward:
    case Op::evaluate:
    case Op::backward_input:
    case Op::backward_weight:
    case Op::backward:
      if (has_weights(now, p)) task(now, p);
      return false;
    case Op::send: send(now, p); return true;
    case Op::wait_receive: return receive(now, p);
    case Op::gather_received: gather_received(now, p); return false;
    case Op::gather_parameters: gather(now, p); return true;
    case Op::release_parameters: release(p); return true;
    case Op::reduce_gradients: reduce(now, p); return true;
    case Op::wait_gradients: return wait_gradients(now, p);
    case Op::reduce_loss:
    case Op::reduce_norm: meet_all(now, p); return false;
    case Op::step: step(now, p); return false;
    case Op::post_receive: post(p); return true;
    case Op::hand_over: hand_over(p); return true;
    case Op::reduce_tied: add_tied(p); return true;
  }
  return true;
}

bool Simulator::block(double now, int p, State state) {
  progress_[p].state = state;
  progress_[p].blocked_since = now;
  return false;
}

void Simulator::meet_all(double now, int p) {
  block(now, p, State::awaits_all);
  if (++all_arrived_ < num_programs()) return;
  all_arrived_ = 0;
  for (int member = 0; member < num_programs(); ++member)
    events_.push(now, Event::Kind::resume, member);
}

void Simulator::record(int p, Lane lane, const Instruction& instruction, double begin, double end) {
  if (recording_ == Recording::sums) return;
  result_.trace.push_back({programs_[p].device, lane, instruction, begin, end});
}

void Simulator::finish(int p) {
  PPTRAIN_ASSERT(progress_[p].state == State::ended, "device {} never gets past \"{}\"",
                 programs_[p].device.value, to_string(current(p)));
  SimulatedDevice& device = result_.devices[p];
  device.peak_bytes = prices_.fixed_bytes(p) + progress_[p].peak_stored_bytes;
  device.idle_seconds =
      std::max(0.0, result_.makespan_seconds - device.busy_seconds - device.communication_seconds);
}

}  // namespace pptrain
