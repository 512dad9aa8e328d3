#include "runtime/execute/executor.hpp"

#include <fmt/format.h>

#include "base/timing.hpp"
#include "schedule/schedule.hpp"
#include "simulate/prices.hpp"
#include "tensor/device_range.hpp"

namespace pptrain {
namespace {

/// Tasks and the optimizer step compute; of the rest only what may wait is seen in a trace.
std::optional<Lane> lane_of(Op op) {
  switch (op) {
    case Op::post_receive:
    case Op::send:
    case Op::hand_over:
    case Op::gather_parameters:
    case Op::release_parameters:
    case Op::reduce_gradients: return std::nullopt;
    case Op::wait_receive:
    case Op::gather_received:
    case Op::wait_gradients:
    case Op::reduce_tied:
    case Op::reduce_loss:
    case Op::reduce_norm: return Lane::communication;
    default: return Lane::compute;
  }
}

/// As profilers show it: "BW1.3, stage 0, chunk 1, micro-batch 3".
std::string range_name(const Program& program, const Instruction& i) {
  const std::string name = fmt::format("{}, stage {}", to_string(i), program.stage.value);
  return is_task(i.op) ? fmt::format("{}, chunk {}, micro-batch {}", name, i.chunk().value,
                                     i.micro_batch().value)
                       : name;
}

/// Tasks that the host tells the device ahead of what it does: enough to keep it busy, and few
/// enough that what others wait for is sent in time, and that a wait for the device is short.
constexpr std::size_t most_lead = 2;

/// Work of the device.
class WorkPending final : public Pending {
 public:
  WorkPending(const Device& device, const RankGroups& groups, DeviceWorkPtr work)
      : device_(device), groups_(groups), work_(std::move(work)) {}
  bool test() override { return work_->has_ended(); }
  std::string missing() const override {
    const std::string unfinished = groups_.unfinished();
    return "the work of " + device_.name() +
           (unfinished.empty() ? "" : ", where " + unfinished + " has not ended");
  }

 private:
  const Device& device_;
  const RankGroups& groups_;
  DeviceWorkPtr work_;
};

/// The first instruction from `begin` on whose operation is such a one, or null.
const Instruction* next(const Program& program, std::size_t begin, bool (*is_such)(Op)) {
  for (std::size_t i = begin; i < program.instructions.size(); ++i) {
    if (is_such(program.instructions[i].op)) return &program.instructions[i];
  }
  return nullptr;
}

/// Whether the operation may stand between a task and the last one that passes its output on.
bool passes_on(Op op) { return op == Op::send || op == Op::hand_over || op == Op::post_receive; }

/// Whether the gradients of its chunk are complete with this task: their sum comes before the next
/// one.
bool completes_gradients(const Program& program, std::size_t task) {
  const std::vector<Instruction>& all = program.instructions;
  for (std::size_t i = task + 1; i < all.size() && !is_task(all[i].op); ++i) {
    if (all[i].op == Op::reduce_gradients && all[i].chunk() == all[task].chunk()) return true;
  }
  return false;
}

}  // namespace

Executor::Executor(const ExecutorParts& parts)
    : parts_(parts),
      values_(0, {}, parts.arena.device().host_memory()),
      last_chunk_(static_cast<int>(chunk_places(parts.plan).size()) - 1),
      messages_(parts),
      samples_(parts),
      expert_loads_(parts.model),
      times_(parts.arena.device(), parts.waiter) {
  sums_.buffer =
      Buffer(parts_.arena, static_cast<std::size_t>(2 + last_chunk_ + 1) * sizeof(double));
  if (parts_.role && parts_.plan.stages[parts_.role->stage.index()].offload_activations)
    offload_.emplace(parts_.arena);
  parts_.waiter.name_place([this] { return place(); });
}

Executor::~Executor() { parts_.waiter.name_place({}); }

IterationResult Executor::run(const Program& program, const Iteration& iteration) {
  // From where the device has nothing left to do, its times are those of the host.
  if (iteration.trace != nullptr) wait_for_device(parts_.arena.device().work_so_far());
  times_.start();
  result_ = {};
  result_.targets = count_targets(iteration);
  parts_.arena.device().fill(sums_.buffer.data(), 0, sums_.buffer.bytes());
  expert_loads_.clear();
  if (parts_.model_balance != nullptr) parts_.model_balance->start();
  parts_.waiter.take_cpu_seconds();
  const double cpu_start = thread_cpu_seconds();
  if (parts_.device != nullptr) {
    parts_.device->announce(next(program, 0, reads_weights));
    parts_.device->carry();
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    run_instruction(program, i, iteration);
  current_ = nullptr;
  wait_for_sends(iteration);
  count_times(cpu_start);
  if (iteration.trace != nullptr) write_trace(program, *iteration.trace);
  return result_;
}

/// Targets of the global batch. Where some positions have none every rank counts, since
/// micro-batches and replicas have different numbers of them.
std::int64_t Executor::count_targets(const Iteration& iteration) const {
  const std::int64_t samples = iteration.counted_samples.value_or(parts_.plan.global_batch_size);
  if (!parts_.model.sample.has_unlabelled()) return samples * parts_.model.sample.rows;
  std::int64_t sum = 0;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::int64_t of_sample = 0;
    SampleSlot slot;
    slot.num_targets = &of_sample;
    iteration.samples(sample, slot);
    sum += of_sample;
  }
  return sum;
}

void Executor::run_instruction(const Program& program, std::size_t number,
                               const Iteration& iteration) {
  const Instruction& instruction = program.instructions[number];
  current_ = &instruction;
  if (!passes_on(instruction.op)) messages_.drop_output();
  if (reads_weights(instruction.op))
    parts_.device->announce(next(program, number + 1, reads_weights));
  if (offload_ && is_task(instruction.op)) next_task_ = next(program, number + 1, is_task);
  if (is_task(instruction.op) && completes_gradients(program, number)) {
    parts_.device->begin(instruction.chunk(), GradientPass::completes);
  }
  execute_traced(program, instruction, iteration);
  if (is_task(instruction.op) || instruction.op == Op::step) limit_lead();
  times_.count(instruction.op == Op::wait_receive ? WaitKind::idle : WaitKind::communication);
  messages_.release_sent();
  if (parts_.device != nullptr) parts_.device->progress();
}

void Executor::execute_traced(const Program& program, const Instruction& instruction,
                              const Iteration& iteration) {
  const DeviceRange range(parts_.arena.device(), [&] { return range_name(program, instruction); });
  const std::optional<Lane> lane =
      iteration.trace == nullptr ? std::nullopt : lane_of(instruction.op);
  DeviceTimes::Point begin = lane ? times_.now() : DeviceTimes::Point();
  execute(instruction, iteration);
  if (lane) traced_.push_back({&instruction, *lane, std::move(begin), times_.now()});
}

void Executor::wait_for_sends(const Iteration& iteration) {
  messages_.wait_for_sends([&] { return fmt::format("end of iteration {}", iteration.step); });
  if (parts_.model_balance != nullptr) {
    parts_.model_balance->finish([&](Pending& sent) {
      parts_.waiter.wait(sent, [&] { return fmt::format("end of iteration {}", iteration.step); });
    });
  }
  times_.count(WaitKind::communication);
}

void Executor::count_times(double cpu_start) {
  result_.communication_seconds = times_.take(WaitKind::communication);
  result_.idle_seconds = times_.take(WaitKind::idle);
  result_.seconds = times_.host_seconds();
  result_.cpu_seconds = parts_.arena.device().is_host()
                            ? thread_cpu_seconds() - cpu_start - parts_.waiter.take_cpu_seconds()
                            : result_.compute_seconds();
}

void Executor::write_trace(const Program& program, Trace& trace) {
  wait_for_device(parts_.arena.device().work_so_far());
  trace.clear();
  for (const Traced& traced : traced_) {
    trace.push_back({program.device, traced.lane, *traced.instruction, times_.seconds(traced.begin),
                     times_.seconds(traced.end)});
  }
  traced_.clear();
}

void Executor::execute(const Instruction& instruction, const Iteration& iteration) {
  switch (instruction.op) {
    case Op::forward: forward(instruction, iteration, true); break;
    case Op::evaluate: forward(instruction, iteration, false); break;
    case Op::backward_input: backward_input(instruction, false); break;
    case Op::backward_weight: backward_weight(instruction); break;
    case Op::backward: backward_input(instruction, true); break;
    case Op::post_receive: messages_.post_receive(instruction); break;
    case Op::wait_receive: messages_.wait_receive(instruction); break;
    case Op::gather_received: messages_.gather_received(instruction); break;
    case Op::send: messages_.send(instruction); break;
    case Op::hand_over: messages_.hand_over(instruction); break;
    case Op::gather_parameters: parts_.device->gather(instruction.chunk()); break;
    case Op::release_parameters: parts_.device->release(instruction.chunk()); break;
    case Op::reduce_gradients: parts_.device->reduce(instruction.chunk()); break;
    case Op::wait_gradients: wait_gradients(); break;
    case Op::reduce_tied: messages_.add_tied_gradients(instruction.tie().receiving_end); break;
    case Op::reduce_loss: reduce_loss(iteration); break;
    case Op::reduce_norm: reduce_norm(iteration); break;
    case Op::step: update(iteration); break;
  }
}

/// What others wait for goes on.
void Executor::wait_for_device(DeviceWorkPtr work) {
  if (parts_.arena.device().is_host()) return;
  WorkPending pending(parts_.arena.device(), parts_.groups, std::move(work));
  parts_.waiter.wait_for_own(pending);
}

/// After a task, and after the step.
void Executor::limit_lead() {
  if (parts_.arena.device().is_host()) return;
  lead_.push_back(parts_.arena.device().work_so_far());
  if (lead_.size() <= most_lead) return;
  wait_for_device(std::move(lead_.front()));
  lead_.pop_front();
}

std::string Executor::place() const {
  std::string text = fmt::format("rank {}, ", parts_.groups.all().rank());
  if (parts_.role) {
    text += fmt::format("stage {}, replica {}, shard {}, ", parts_.role->stage.value,
                        parts_.role->replica, parts_.role->shard);
  }
  return current_ == nullptr ? text + "between iterations"
                             : text + fmt::format("at \"{}\"", to_string(*current_));
}

}  // namespace pptrain
