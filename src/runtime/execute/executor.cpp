#include "runtime/execute/executor.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/timing.hpp"
#include "schedule/schedule.hpp"
#include "simulate/prices.hpp"

namespace pptrain {
namespace {

/// Tasks and the optimizer step compute; of the rest only what may wait leaves an event.
void record(Trace& trace, DeviceId device, const Instruction& instruction, double begin, double end) {
  switch (instruction.op) {
    case Op::post_receive:
    case Op::send:
    case Op::hand_over:
    case Op::gather_parameters:
    case Op::release_parameters:
    case Op::reduce_gradients: return;
    case Op::wait_receive:
    case Op::gather_received:
    case Op::wait_gradients:
    case Op::reduce_tied:
    case Op::reduce_loss:
    case Op::reduce_norm: trace.push_back({device, Lane::communication, instruction, begin, end}); return;
    default: trace.push_back({device, Lane::compute, instruction, begin, end});
  }
}

/// Tasks that the host tells the device ahead of what it does: enough to keep it busy, and few enough that what others
/// wait for is sent in time, and that a wait for the device is short.
constexpr std::size_t most_lead = 2;

/// Work of the device.
class WorkPending final : public Pending {
 public:
  WorkPending(const Device& device, const RankGroups& groups, DeviceWorkPtr work)
      : device_(device), groups_(groups), work_(std::move(work)) {}
  bool test() override { return work_->has_ended(); }
  std::string missing() const override {
    const std::string unfinished = groups_.unfinished();
    return "the work of " + device_.name() + (unfinished.empty() ? "" : ", where " + unfinished + " has not ended");
  }

 private:
  const Device& device_;
  const RankGroups& groups_;
  DeviceWorkPtr work_;
};

/// The first task from instruction `begin` on that reads weights, or null.
const Instruction* next_reader(const Program& program, std::size_t begin) {
  for (std::size_t i = begin; i < program.instructions.size(); ++i) {
    if (reads_weights(program.instructions[i].op)) return &program.instructions[i];
  }
  return nullptr;
}

/// Whether the gradients of its chunk are complete with this task: their sum comes before the next one.
bool completes_gradients(const Program& program, std::size_t task) {
  const std::vector<Instruction>& all = program.instructions;
  for (std::size_t i = task + 1; i < all.size() && !is_task(all[i].op); ++i) {
    if (all[i].op == Op::reduce_gradients && all[i].chunk == all[task].chunk) return true;
  }
  return false;
}

}  // namespace

Executor::Executor(const Model& model, const Plan& plan, const RankMap& map, std::optional<Role> role,
                   DeviceModel* device, Optimizer* optimizer, RankGroups& groups, Waiter& waiter, Arena& arena,
                   Kernels& kernels)
    : model_(model),
      plan_(plan),
      map_(map),
      role_(role),
      device_(device),
      optimizer_(optimizer),
      groups_(groups),
      waiter_(waiter),
      arena_(arena),
      kernels_(kernels),
      values_(0, {}, arena.device().host_memory()),
      last_chunk_(static_cast<int>(chunk_places(plan).size()) - 1) {
  sums_.buffer = Buffer(arena_, 2 * sizeof(double));
  waiter.name_place([this] { return place(); });
}

Executor::~Executor() { waiter_.name_place({}); }

IterationResult Executor::run(const Program& program, const Iteration& iteration) {
  start_ = std::chrono::steady_clock::now();
  if (iteration.trace != nullptr) iteration.trace->clear();
  result_ = {};
  arena_.device().fill(sums_.buffer.data(), 0, sums_.buffer.bytes());
  waiter_.take_seconds();
  waiter_.take_cpu_seconds();
  const double cpu_start = thread_cpu_seconds();
  if (device_ != nullptr) {
    device_->announce(next_reader(program, 0));
    device_->carry();
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    current_ = &instruction;
    if (reads_weights(instruction.op)) device_->announce(next_reader(program, i + 1));
    if (is_task(instruction.op) && completes_gradients(program, i)) {
      device_->begin(instruction.chunk, GradientPass::completes);
    }
    const double begin = seconds_since_start();
    execute(instruction, iteration);
    if (is_task(instruction.op)) limit_lead();
    if (iteration.trace != nullptr) record(*iteration.trace, program.device, instruction, begin, seconds_since_start());
    const double waited = waiter_.take_seconds();
    (instruction.op == Op::wait_receive ? result_.idle_seconds : result_.communication_seconds) += waited;
    release_sent();
    if (device_ != nullptr) device_->progress();
  }
  current_ = nullptr;
  for (Outgoing& outgoing : outgoing_) {
    waiter_.wait(*outgoing.pending, [&] { return fmt::format("end of iteration {}", iteration.step); });
  }
  outgoing_.clear();
  output_.reset();
  result_.communication_seconds += waiter_.take_seconds();
  result_.seconds = seconds_since_start();
  result_.cpu_seconds = thread_cpu_seconds() - cpu_start - waiter_.take_cpu_seconds();
  return result_;
}

double Executor::seconds_since_start() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Executor::execute(const Instruction& instruction, const Iteration& iteration) {
  switch (instruction.op) {
    case Op::forward: forward(instruction, iteration, true); break;
    case Op::evaluate: forward(instruction, iteration, false); break;
    case Op::backward_input: backward_input(instruction, false); break;
    case Op::backward_weight: backward_weight(instruction); break;
    case Op::backward: backward_input(instruction, true); break;
    case Op::post_receive: post_receive(instruction); break;
    case Op::wait_receive: wait_receive(instruction); break;
    case Op::gather_received: gather_received(instruction); break;
    case Op::send: send(instruction); break;
    case Op::hand_over: hand_over(instruction); break;
    case Op::gather_parameters: device_->gather(instruction.chunk); break;
    case Op::release_parameters: device_->release(instruction.chunk); break;
    case Op::reduce_gradients: device_->reduce(instruction.chunk); break;
    case Op::wait_gradients: wait_gradients(); break;
    case Op::reduce_tied: add_tied_gradients(instruction.chunk); break;
    case Op::reduce_loss: reduce_loss(iteration); break;
    case Op::reduce_norm: reduce_norm(iteration); break;
    case Op::step: update(iteration); break;
  }
}

/// What the first layer reads, of the samples of the part that it is in.
void Executor::load_inputs(Activation& activation, const Instruction& instruction, const Iteration& iteration) const {
  const Interval own = device_->entry_samples(instruction.chunk);
  const auto samples = static_cast<std::size_t>(own.size());
  const auto length = static_cast<std::size_t>(model_.sequence_length);
  const auto inputs = static_cast<std::size_t>(model_.inputs);
  std::uint16_t* tokens = inputs == 0 ? activation.tokens.host(samples * length) : nullptr;
  float* features = inputs == 0 ? nullptr : activation.features.host(samples * inputs);
  const std::int64_t first = instruction.micro_batch.value * plan_.micro_batch_size + own.begin;
  for (std::size_t s = 0; s < samples; ++s) {
    SampleSlot slot;
    if (inputs == 0) {
      slot.tokens = tokens + s * length;
    } else {
      slot.features = features + s * inputs;
    }
    iteration.samples(first + static_cast<std::int64_t>(s), slot);
  }
  Batch& batch = activation.batches.front();
  if (inputs == 0) {
    batch.tokens = activation.tokens.upload(arena_);
  } else {
    batch.features = activation.features.upload(arena_);
  }
}

/// What the loss is computed from, likewise.
void Executor::load_targets(Activation& activation, const Instruction& instruction, const Iteration& iteration) const {
  const Interval own = device_->exit_samples(instruction.chunk);
  const auto samples = static_cast<std::size_t>(own.size());
  const auto length = static_cast<std::size_t>(model_.sequence_length);
  std::int32_t* targets = activation.targets.host(samples * length);
  const std::int64_t first = instruction.micro_batch.value * plan_.micro_batch_size + own.begin;
  for (std::size_t s = 0; s < samples; ++s) {
    iteration.samples(first + static_cast<std::int64_t>(s), {nullptr, targets + s * length, nullptr});
  }
  activation.batches.back().targets = activation.targets.upload(arena_);
  activation.batches.back().loss = sums_.loss();
}

void Executor::forward(const Instruction& i, const Iteration& iteration, bool keep) {
  const int chunk = i.chunk.value;
  Activation& activation = activations_[{chunk, i.micro_batch.value}];
  result_.peak_stored = std::max(result_.peak_stored, static_cast<int>(activations_.size()));
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (const PartModel* part : parts) {
    Batch& batch = activation.batches.emplace_back();
    batch.samples = static_cast<std::size_t>(part->role().samples().size());
    batch.loss_scale = static_cast<float>(iteration.loss_scale /
                                          static_cast<double>(plan_.global_batch_size * model_.sequence_length));
  }
  if (chunk == 0) load_inputs(activation, i, iteration);
  if (chunk == last_chunk_) load_targets(activation, i, iteration);
  Tensor x = chunk == 0 ? Tensor() : take_input({Payload::activation, chunk - 1, i.micro_batch.value});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (p > 0) x = device_->between(parts[p]->role().index).forward(std::move(x), device_->reductions());
    activation.saved.emplace_back();
    for (const auto& layer : parts[p]->layers(i.chunk)) {
      SavedPtr saved;
      x = layer->forward(activation.batches[p], std::move(x), keep ? &saved : nullptr);
      activation.saved.back().push_back(std::move(saved));
    }
  }
  if (chunk != last_chunk_) put_output({Payload::activation, chunk, i.micro_batch.value}, std::move(x));
  if (!keep) activations_.erase({chunk, i.micro_batch.value});
}

void Executor::backward_input(const Instruction& i, bool with_weight) {
  const int chunk = i.chunk.value;
  Activation& activation = activations_.at({chunk, i.micro_batch.value});
  Tensor gradient = chunk == last_chunk_ ? Tensor() : take_input({Payload::gradient, chunk, i.micro_batch.value});
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (std::size_t p = parts.size(); p-- > 0;) {
    auto& layers = parts[p]->layers(i.chunk);
    const Batch& batch = activation.batches[p];
    for (std::size_t l = layers.size(); l-- > 0;) {
      SavedPtr& saved = activation.saved[p][l];
      gradient = layers[l]->backward_input(batch, std::move(gradient), *saved);
      if (!with_weight) continue;
      layers[l]->backward_weight(batch, *saved);
      saved.reset();
    }
    if (p > 0) gradient = device_->between(parts[p]->role().index).backward(std::move(gradient), device_->reductions());
  }
  if (chunk != 0) put_output({Payload::gradient, chunk - 1, i.micro_batch.value}, std::move(gradient));
  if (with_weight) activations_.erase({chunk, i.micro_batch.value});
}

void Executor::backward_weight(const Instruction& i) {
  Activation& activation = activations_.at({i.chunk.value, i.micro_batch.value});
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (std::size_t p = parts.size(); p-- > 0;) {
    auto& layers = parts[p]->layers(i.chunk);
    for (std::size_t l = layers.size(); l-- > 0;) {
      layers[l]->backward_weight(activation.batches[p], *activation.saved[p][l]);
      activation.saved[p][l].reset();
    }
  }
  activations_.erase({i.chunk.value, i.micro_batch.value});
}

void Executor::wait_gradients() {
  waiter_.wait(device_->reductions(), [] { return std::string(); });
  device_->drop_summed();
  // What two parts hold of the tied embedding they exchange whole.
  for (const auto& part : device_->parts()) {
    if (part->shares_embedding()) part->shards().gather_gradients(part->tied_unit());
  }
}

/// With the loss goes whether to stop, so that this costs no message of its own.
void Executor::reduce_loss(const Iteration& iteration) {
  // Shards of a replica all know its loss, so the first one alone reports it.
  const bool reports = device_ != nullptr && device_->parts().back()->role().shard == 0;
  double sums[] = {reports ? value_of(sums_.loss()) : 0.0, iteration.wants_stop && iteration.wants_stop() ? 1.0 : 0.0};
  groups_.all().all_reduce_sum(sums, 2);
  result_.loss = sums[0] / static_cast<double>(plan_.global_batch_size * model_.sequence_length);
  result_.stop = sums[1] > 0.0;
}

/// All ranks know the norm, so all skip a step or none does.
void Executor::reduce_norm(const Iteration& iteration) {
  if (device_ != nullptr) {
    for (const auto& part : device_->parts()) {
      const ParameterStore& store = part->parameters();
      for (const OwnPart& own : store.own_parts()) {
        if (part->counts(store.parameters()[own.parameter])) {
          kernels_.sum_of_squares(own.gradients, own.size, sums_.squares());
        }
      }
    }
  }
  double squares = value_of(sums_.squares());
  groups_.all().all_reduce_sum(&squares, 1);
  result_.grad_norm = std::sqrt(squares) / iteration.loss_scale;
  result_.loss_scale = iteration.loss_scale;
  result_.skipped = iteration.skips_overflow && !std::isfinite(result_.grad_norm);
}

/// This is no waiting for others; what others wait for goes on.
void Executor::wait_for_device(DeviceWorkPtr work) {
  const double waited = waiter_.take_seconds();
  WorkPending pending(arena_.device(), groups_, std::move(work));
  waiter_.wait(pending, [] { return std::string(); });
  waiter_.take_seconds();
  waiter_.add_seconds(waited);
}

/// After a task.
void Executor::limit_lead() {
  if (arena_.device().is_host()) return;
  lead_.push_back(arena_.device().work_so_far());
  if (lead_.size() <= most_lead) return;
  wait_for_device(std::move(lead_.front()));
  lead_.pop_front();
}

double Executor::value_of(const double* sum) {
  const Buffer value(values_, sizeof(double));
  wait_for_device(arena_.device().start_download(value.data(), sum, value.bytes()));
  return *static_cast<const double*>(value.data());
}

void Executor::update(const Iteration& iteration) {
  if (device_ == nullptr) return;
  device_->settle();
  if (!result_.skipped) step(iteration);
  for (const auto& part : device_->parts()) part->parameters().start_step();
}

/// The optimizer's step, behind which what it has updated is published.
void Executor::step(const Iteration& iteration) {
  /// A unit of a part's parameters.
  struct Unit {
    PartModel* part;
    std::size_t unit;
  };
  std::vector<Unit> units;           // in the order in which the optimizer comes to them
  std::vector<std::size_t> unit_of;  // of the optimizer's runs
  for (const auto& part : device_->parts()) {
    const ParameterStore& store = part->parameters();
    const std::size_t first = units.size();
    for (std::size_t unit = 0; unit < store.num_units(); ++unit) units.push_back({part.get(), unit});
    for (const OwnPart& own : store.own_parts()) unit_of.push_back(first + store.parameters()[own.parameter].unit);
  }
  std::size_t published = 0;
  const auto publish_before = [&](std::size_t end) {
    for (; published < end; ++published) units[published].part->shards().publish_weights(units[published].unit);
    device_->progress();
  };
  const double scale = clip_factor(result_.grad_norm, iteration.gradient_clip) / iteration.loss_scale;
  optimizer_->step({iteration.step - iteration.skipped_steps, iteration.learning_rate, scale}, [&](std::size_t run) {
    if (run + 1 < unit_of.size()) publish_before(unit_of[run + 1]);
  });
  publish_before(units.size());
}

std::string Executor::place() const {
  std::string text;
  if (role_) {
    const DeviceId device = plan_.stages[role_->stage.index()].devices[role_->replica][role_->shard];
    text = fmt::format("rank {}, stage {}, replica {}, shard {}, ", map_.rank_of(device).value, role_->stage.value,
                       role_->replica, role_->shard);
  }
  return current_ == nullptr ? text + "between iterations" : text + fmt::format("at \"{}\"", to_string(*current_));
}

}  // namespace pptrain
