#include "simulate/simulate.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "simulate/events.hpp"
#include "simulate/network.hpp"
#include "simulate/prices.hpp"
#include "simulate/transfers.hpp"

namespace pptrain {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// What a program waits for.
enum class State {
  ready,
  computes,
  awaits_group,
  awaits_transfer,
  awaits_weights,
  awaits_reductions,
  awaits_all,
  ended
};

struct Progress {
  std::size_t next = 0;  ///< instruction
  State state = State::ready;
  double blocked_since = 0.0;
  double stored_bytes = 0.0;
  double peak_stored_bytes = 0.0;  ///< gathered weights and the layer that is recomputed included
  int stored = 0;
  int pending_reductions = 0;
  bool started = false;
};

struct TransferProgress {
  double started = never;
  double arrived = never;
  int waiter = -1;  ///< program
};

struct RunningReduction {
  int group;
  double started;
};

class Simulator {
 public:
  Simulator(const Instance& instance, const Plan& plan, const Programs& programs, const SimulateOptions& options)
      : programs_(programs),
        recording_(options.recording),
        prices_(instance, plan, programs),
        network_(instance.cluster, events_),
        transfers_(programs, prices_, network_, options.tied_row_bytes),
        progress_(programs.size()),
        under_way_(transfers_.all().size()),
        group_arrived_(prices_.task_groups().size(), 0),
        arrivals_(prices_.reductions().size()),
        collectives_started_(prices_.reductions().size(), 0),
        has_weights_(programs.size() * static_cast<std::size_t>(prices_.num_chunks()), 0),
        lane_free_(static_cast<std::size_t>(prices_.num_lanes()), 0.0) {
    for (const Program& program : programs) {
      result_.devices.emplace_back();
      result_.devices.back().device = program.device;
    }
  }

  Simulation run() {
    for (int p = 0; p < num_programs(); ++p) events_.push(0.0, Event::Kind::resume, p);
    while (!events_.empty()) handle(events_.pop());
    for (int p = 0; p < num_programs(); ++p) finish(p);
    return std::move(result_);
  }

 private:
  int num_programs() const { return static_cast<int>(programs_.size()); }
  const Instruction& current(int p) const { return programs_[p].instructions[progress_[p].next]; }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::resume: resume(event.time, event.index); break;
      case Event::Kind::flow_end: flow_end(event); break;
      case Event::Kind::arrival: arrive(event.time, event.index); break;
      case Event::Kind::reduction_end: end_reduction(event.time, event.index); break;
    }
  }

  void resume(double now, int p) {
    if (progress_[p].state == State::computes) end_task(now, p);
    if (progress_[p].state != State::ready) ++progress_[p].next;
    advance(now, p);
  }

  /// Executes instructions until one takes time or waits.
  void advance(double now, int p) {
    Progress& progress = progress_[p];
    progress.state = State::ready;
    const std::size_t end = programs_[p].instructions.size();
    while (progress.next < end && execute(now, p)) ++progress.next;
    if (progress.next < end) return;
    progress.state = State::ended;
    result_.makespan_seconds = std::max(result_.makespan_seconds, now);
  }

  /// Returns whether the instruction is done at once.
  bool execute(double now, int p) {
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
      case Op::gather_parameters: gather(now, p); return true;
      case Op::release_parameters: release(p); return true;
      case Op::reduce_gradients: reduce(now, p); return true;
      case Op::wait_gradients: return progress_[p].pending_reductions == 0 || block(now, p, State::awaits_reductions);
      case Op::reduce_loss:
      case Op::reduce_norm: meet_all(now, p); return false;
      case Op::step: step(now, p); return false;
      case Op::post_receive:
      case Op::hand_over:
      case Op::reduce_tied: return true;
    }
    return true;
  }

  bool block(double now, int p, State state) {
    progress_[p].state = state;
    progress_[p].blocked_since = now;
    return false;
  }

  /// All members of a tensor-parallel group start together.
  void task(double now, int p) {
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

  void start_task(double now, int p) {
    const Instruction& instruction = current(p);
    const ChunkPrice& chunk = prices_.of(p, instruction.chunk);
    const TaskPrice& price = chunk.task(phase_of(instruction.op));
    SimulatedDevice& device = result_.devices[p];
    Progress& progress = progress_[p];
    if (instruction.op == Op::forward) {
      store(p, chunk.stored_bytes);
      device.peak_stored = std::max(device.peak_stored, ++progress.stored);
    }
    if (runs_backward(instruction.op)) store(p, chunk.in_work_bytes);
    device.busy_seconds += price.busy;
    device.communication_seconds += price.communication;
    occupy(now, p, price.seconds);
  }

  void occupy(double now, int p, double seconds) {
    SimulatedDevice& device = result_.devices[p];
    Progress& progress = progress_[p];
    if (!progress.started) device.first_start_seconds = now;
    progress.started = true;
    progress.state = State::computes;
    device.last_end_seconds = now + seconds;
    record(p, Lane::compute, current(p), now, now + seconds);
    events_.push(now + seconds, Event::Kind::resume, p);
  }

  static bool runs_backward(Op op) { return op == Op::backward || op == Op::backward_input; }

  void end_task(double now, int p) {
    const Instruction& instruction = current(p);
    if (runs_backward(instruction.op)) {
      progress_[p].stored_bytes -= prices_.of(p, instruction.chunk).in_work_bytes;
    }
    if (instruction.op != Op::backward && instruction.op != Op::backward_weight) return;
    progress_[p].stored_bytes -= prices_.of(p, instruction.chunk).stored_bytes;
    --progress_[p].stored;
    const int number = prices_.of(p, instruction.chunk).reduce_group;
    if (number >= 0 && prices_.reductions()[number].after_each_task) start_reduction(now, p, number);
  }

  /// A step that takes no time leaves no mark.
  void step(double now, int p) {
    const double seconds = prices_.step_seconds(p);
    if (seconds > 0.0) {
      result_.devices[p].busy_seconds += seconds;
      occupy(now, p, seconds);
    } else {
      block(now, p, State::awaits_all);
      events_.push(now, Event::Kind::resume, p);
    }
  }

  void send(double now, int p) {
    const int number = transfers_.of(p, progress_[p].next);
    const Transfer& transfer = transfers_.all()[number];
    under_way_[number].started = now;
    network_.start(now, transfer.route, transfer.bytes, number);
  }

  void flow_end(const Event& event) {
    const int number = network_.finish(event);
    if (number < 0) return;
    const double latency = network_.latency(transfers_.all()[number].route);
    if (latency > 0.0) {
      events_.push(event.time + latency, Event::Kind::arrival, number);
    } else {
      arrive(event.time, number);
    }
  }

  void arrive(double now, int number) {
    TransferProgress& transfer = under_way_[number];
    transfer.arrived = now;
    const Transfer& what = transfers_.all()[number];
    record(what.sender, Lane::communication, programs_[what.sender].instructions[what.instruction], transfer.started,
           now);
    if (transfer.waiter < 0) return;
    const int p = transfer.waiter;
    wait_ends(now, p, transfer.started);
    resume(now, p);
  }

  /// Of the time that a program was blocked, that in which its data was under way is communication.
  void wait_ends(double now, int p, double under_way_since) {
    result_.devices[p].communication_seconds += now - std::max(progress_[p].blocked_since, under_way_since);
  }

  bool receive(double now, int p) {
    TransferProgress& transfer = under_way_[transfers_.of(p, progress_[p].next)];
    if (transfer.arrived <= now) return true;
    transfer.waiter = p;
    return block(now, p, State::awaits_transfer);
  }

  void store(int p, double bytes) {
    Progress& progress = progress_[p];
    progress.stored_bytes += bytes;
    progress.peak_stored_bytes = std::max(progress.peak_stored_bytes, progress.stored_bytes);
  }

  char& weights_of(int p, ChunkId chunk) {
    return has_weights_[static_cast<std::size_t>(p * prices_.num_chunks() + chunk.value)];
  }

  void gather(double now, int p) {
    const ChunkPrice& price = prices_.of(p, current(p).chunk);
    store(p, price.gathered_bytes);
    collective(now, p, price.gather_group);
  }

  void release(int p) {
    progress_[p].stored_bytes -= prices_.of(p, current(p).chunk).gathered_bytes;
    weights_of(p, current(p).chunk) = 0;
  }

  /// Whether the weights that the task needs are there; blocks until they come.
  bool has_weights(double now, int p) {
    const Instruction& task = current(p);
    const bool needs = prices_.of(p, task.chunk).gather_group >= 0 && task.op != Op::backward_weight;
    return !needs || weights_of(p, task.chunk) != 0 || block(now, p, State::awaits_weights);
  }

  void reduce(double now, int p) {
    const int number = prices_.of(p, current(p).chunk).reduce_group;
    if (number >= 0 && prices_.reductions()[number].at_end) start_reduction(now, p, number);
  }

  void start_reduction(double now, int p, int number) {
    ++progress_[p].pending_reductions;
    collective(now, p, number);
  }

  /// It starts when the last member has come to it and the one before has ended.
  void collective(double now, int p, int number) {
    const PricedCollective& reduction = prices_.reductions()[number];
    std::vector<int>& arrivals = arrivals_[number];
    arrivals.resize(reduction.programs.size());
    ++arrivals[std::find(reduction.programs.begin(), reduction.programs.end(), p) - reduction.programs.begin()];
    if (*std::min_element(arrivals.begin(), arrivals.end()) == collectives_started_[number]) return;
    ++collectives_started_[number];
    const double start = std::max(now, lane_free_[reduction.lane]);
    lane_free_[reduction.lane] = start + reduction.seconds;
    for (const int member : reduction.programs) {
      record(member, Lane::communication, {op_of(reduction), reduction.chunk}, start, lane_free_[reduction.lane]);
    }
    events_.push(lane_free_[reduction.lane], Event::Kind::reduction_end, static_cast<int>(running_.size()));
    running_.push_back({number, start});
  }

  static Op op_of(const PricedCollective& reduction) {
    return reduction.kind == PricedCollective::Kind::weights ? Op::gather_parameters : Op::reduce_gradients;
  }

  void end_reduction(double now, int index) {
    const RunningReduction running = running_[index];
    const PricedCollective& reduction = prices_.reductions()[running.group];
    for (const int p : reduction.programs) {
      if (reduction.kind == PricedCollective::Kind::weights) {
        weights_come(now, p, reduction.chunk, running.started);
        continue;
      }
      const int left = --progress_[p].pending_reductions;
      if (progress_[p].state != State::awaits_reductions) continue;
      wait_ends(now, p, running.started);
      if (left == 0) resume(now, p);
    }
  }

  void weights_come(double now, int p, ChunkId chunk, double started) {
    weights_of(p, chunk) = 1;
    if (progress_[p].state != State::awaits_weights || current(p).chunk != chunk) return;
    wait_ends(now, p, started);
    advance(now, p);
  }

  void meet_all(double now, int p) {
    block(now, p, State::awaits_all);
    if (++all_arrived_ < num_programs()) return;
    all_arrived_ = 0;
    for (int member = 0; member < num_programs(); ++member) events_.push(now, Event::Kind::resume, member);
  }

  void record(int p, Lane lane, const Instruction& instruction, double begin, double end) {
    if (recording_ == Recording::sums) return;
    result_.trace.push_back({programs_[p].device, lane, instruction, begin, end});
  }

  void finish(int p) {
    PPTRAIN_ASSERT(progress_[p].state == State::ended, "device {} never gets past \"{}\"", programs_[p].device.value,
                   to_string(current(p)));
    SimulatedDevice& device = result_.devices[p];
    device.peak_bytes = prices_.fixed_bytes(p) + progress_[p].peak_stored_bytes;
    device.idle_seconds = std::max(0.0, result_.makespan_seconds - device.busy_seconds - device.communication_seconds);
  }

  const Programs& programs_;
  Recording recording_;
  Prices prices_;
  EventQueue events_;
  Network network_;
  Transfers transfers_;
  std::vector<Progress> progress_;
  std::vector<TransferProgress> under_way_;
  std::vector<int> group_arrived_;
  std::vector<std::vector<int>> arrivals_;  // by reduction and member
  std::vector<int> collectives_started_;    // by reduction
  std::vector<char> has_weights_;           // by program and chunk, of those that gather them
  std::vector<double> lane_free_;
  std::vector<RunningReduction> running_;
  int all_arrived_ = 0;
  Simulation result_;
};

}  // namespace

double Simulation::bubble_fraction() const {
  if (makespan_seconds <= 0.0) return 0.0;
  double busy = 0.0;
  for (const SimulatedDevice& device : devices) busy += device.busy_seconds;
  return std::max(0.0, 1.0 - busy / (static_cast<double>(devices.size()) * makespan_seconds));
}

Simulation simulate(const Instance& instance, const Plan& plan, const Programs& programs,
                    const SimulateOptions& options) {
  return Simulator(instance, plan, programs, options).run();
}

}  // namespace pptrain
