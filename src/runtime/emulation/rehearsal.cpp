#include "runtime/emulation/rehearsal.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "program/check.hpp"
#include "runtime/execute/agreement.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

Programs agreed_programs(MPI_Comm world, Waiter& waiter, const Instance& instance,
                         const Plan& plan) {
  const OrderOptions orders = agreed_order_options(world, waiter, instance, plan);
  const TransferForms forms = agreed_forms(world, waiter, instance, plan);
  Programs programs = compile_training(plan, task_orders(plan, orders), {instance.ties, forms});
  check_programs(plan, programs, instance.ties);
  return programs;
}

int program_of(const Programs& programs, DeviceId device) {
  const auto own = std::find_if(programs.begin(), programs.end(),
                                [&](const Program& p) { return p.device == device; });
  return own == programs.end() ? -1 : static_cast<int>(own - programs.begin());
}

bool ends_backward(Op op) { return op == Op::backward || op == Op::backward_weight; }

}  // namespace

Rehearsal::Rehearsal(MPI_Comm world, const Instance& instance, const Plan& plan, const RankMap& map,
                     Waiter& waiter)
    : map_(map),
      waiter_(waiter),
      rank_(rank_in(world)),
      device_(map.device_of(rank_)),
      programs_(agreed_programs(world, waiter, instance, plan)),
      prices_(instance, plan, programs_),
      collective_seconds_(seconds_together(prices_.reductions())),
      own_(program_of(programs_, device_)),
      memory_(instance.cluster.kind_of(device_).memory, name_of(rank_, device_, instance.cluster)),
      transfers_(programs_, prices_,
                 [&](DeviceId from, DeviceId to) {
                   return instance.cluster.num_devices() * from.value + to.value;
                 }),
      received_gathers_(instance, plan, programs_),
      log_(world),
      transport_(nullptr, std::make_unique<MpiTransport>(world), instance.cluster, map, device_,
                 log_, clock_),
      meetings_(world) {
  for (int r = 0; r < map.size(); ++r) {
    if (RankId(r) != rank_) everyone_.emplace_back(r);
  }
  std::vector<int> all(programs_.size());
  for (std::size_t p = 0; p < all.size(); ++p) all[p] = static_cast<int>(p);
  all_of_plan_ = others_of(all);
  collectively(world, waiter, [&] {
    if (own_ != nowhere) memory_.take(prices_.fixed_bytes(own_));
  });
  waiter.name_place([this] { return place(); });  // last: nothing may throw before the destructor
                                                  // takes it back
}

Rehearsal::~Rehearsal() { waiter_.name_place({}); }

IterationResult Rehearsal::run(Trace* trace) {
  const int tag = prices_.num_lanes() + 1 + static_cast<int>(prices_.task_groups().size());
  result_ = {};
  busy_seconds_ = 0.0;
  weight_waits_ = {};
  if (own_ != nowhere) {
    task_bytes_ = TaskBytes(programs_[own_], [&](ChunkId chunk) -> const ChunkBytes& {
      return prices_.of(own_, chunk).bytes;
    });
  }
  if (trace != nullptr) trace->clear();
  start_ = meet(everyone_, tag, EmulatedClock::host());
  clock_.reach(start_);
  waiter_.take_seconds();
  if (own_ != nowhere) run_program(trace);
  current_ = nullptr;
  // The iteration ends when the last rank has come, not when word of that gets round.
  const double end = meet(everyone_, tag, EmulatedClock::host());
  waiter_.take_seconds();
  result_.seconds = end - start_;
  // The host's lateness in waits is no communication where nothing else is left of the iteration.
  result_.communication_seconds =
      std::min(result_.communication_seconds, result_.seconds - busy_seconds_);
  result_.idle_seconds =
      std::max(0.0, result_.seconds - busy_seconds_ - result_.communication_seconds);
  return result_;
}

void Rehearsal::run_program(Trace* trace) {
  const std::vector<Instruction>& instructions = programs_[own_].instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    current_ = &instructions[i];
    const double begin = EmulatedClock::host() - start_;
    execute(*current_, i);
    const double waited = waiter_.take_seconds();
    if (current_->op != Op::wait_receive) result_.communication_seconds += waited;
    const bool computes = is_task(current_->op) || current_->op == Op::step;
    if (trace != nullptr && (computes || waited > 0.0)) {
      trace->push_back({device_, computes ? Lane::compute : Lane::communication, *current_, begin,
                        EmulatedClock::host() - start_});
    }
    sent_.remove_if([](const PendingPtr& message) { return message->test(); });
  }
  for (const PendingPtr& message : sent_) wait(*message);
  sent_.clear();
}

void Rehearsal::execute(const Instruction& instruction, std::size_t number) {
  switch (instruction.op) {
    case Op::forward:
    case Op::backward_input:
    case Op::backward_weight:
    case Op::backward: task(instruction, number); break;
    case Op::send: send(instruction, number); break;
    case Op::wait_receive: receive(instruction, number); break;
    case Op::gather_received: gather_received(instruction); break;
    case Op::gather_parameters: gather(instruction.chunk()); break;
    case Op::release_parameters:
      memory_.give_back(prices_.of(own_, instruction.chunk()).gathered_bytes);
      break;
    case Op::reduce_gradients: reduce(instruction.chunk(), false); break;
    case Op::wait_gradients: wait_gradients(); break;
    case Op::reduce_loss:
    case Op::reduce_norm:
      clock_.reach(meet(all_of_plan_, prices_.num_lanes(), clock_.now()));
      break;
    case Op::step:
      memory_.take(prices_.step_bytes(own_));
      clock_.sleep_until(clock_.now() + prices_.step_seconds(own_));
      busy_seconds_ += prices_.step_seconds(own_);
      memory_.give_back(prices_.step_bytes(own_));
      break;
    case Op::evaluate:      // no evaluation without numbers
    case Op::post_receive:  // messages without data need no place
    case Op::hand_over:
    case Op::reduce_tied: break;
  }
}

/// As `Prices` has it: members of a group start together, and the task takes them all equally long.
void Rehearsal::task(const Instruction& instruction, std::size_t number) {
  const ChunkPrice& price = prices_.of(own_, instruction.chunk());
  const auto weights = weights_.find(instruction.chunk().value);
  if (weights != weights_.end() && instruction.op != Op::backward_weight) wait(*weights->second);
  if (price.task_group >= 0) {
    const int tag = prices_.num_lanes() + 1 + price.task_group;
    clock_.reach(meet(others_of(prices_.task_groups()[price.task_group]), tag, clock_.now()));
  }
  take_memory(instruction, number);
  const double wait = weight_waits_.before(clock_.now() - start_, instruction, price);
  const TaskPrice& task = price.task(phase_of(instruction.op));
  clock_.sleep_until(clock_.now() + wait + task.seconds);
  busy_seconds_ += task.busy;
  result_.communication_seconds += wait + task.communication;
  give_memory_back(instruction);
  if (ends_backward(instruction.op)) reduce(instruction.chunk(), true);
}

void Rehearsal::take_memory(const Instruction& instruction, std::size_t number) {
  const ChunkBytes& bytes = prices_.of(own_, instruction.chunk()).bytes;
  if (instruction.op == Op::forward) result_.peak_stored = std::max(result_.peak_stored, ++stored_);
  memory_.take(task_bytes_.start(number, instruction.op, bytes));
}

void Rehearsal::give_memory_back(const Instruction& instruction) {
  const ChunkBytes& bytes = prices_.of(own_, instruction.chunk()).bytes;
  memory_.give_back(task_bytes_.end(instruction.op, bytes));
  if (ends_backward(instruction.op)) --stored_;
}

void Rehearsal::send(const Instruction& instruction, std::size_t number) {
  const auto bytes = static_cast<std::size_t>(transfers_.all()[transfers_.of(own_, number)].bytes);
  sent_.push_back(transport_.send(map_.rank_of(instruction.peer), tag_of(number), nullptr, bytes));
}

void Rehearsal::receive(const Instruction& instruction, std::size_t number) {
  wait(*transport_.receive(map_.rank_of(instruction.peer), tag_of(number), nullptr, 0));
}

/// Ranks that need the same start together when the last has its slice.
void Rehearsal::gather_received(const Instruction& instruction) {
  const ReceivedGathers::Group& group = received_gathers_.of(own_, instruction.payload);
  const int first_tag = prices_.num_lanes() + 2 + static_cast<int>(prices_.task_groups().size());
  const int tag = first_tag + (instruction.is_tied() ? 1 : 0);
  clock_.reach(meet(others_of(group.programs), tag, clock_.now()));
  const double seconds = received_gathers_.seconds(group, bytes_of(instruction, prices_));
  clock_.sleep_until(clock_.now() + seconds);
  result_.communication_seconds += seconds;
}

PendingPtr Rehearsal::start_collective(int number) {
  const PricedCollective& what = prices_.reductions()[number];
  EmulatedLane& lane = lanes_.try_emplace(what.lane, meetings_, what.lane, clock_).first->second;
  return lane.start(others_of(what.programs),
                    collective_seconds_[static_cast<std::size_t>(number)]);
}

/// Sums between groups of replicas go on where this rank's group has ended; all groups tell each
/// other by one tag.
PendingPtr Rehearsal::start_across(int number, int after) {
  const PricedCollective& what = prices_.reductions()[number];
  const int own_lane = after < 0 ? what.lane : prices_.reductions()[after].lane;
  EmulatedLane& lane = lanes_.try_emplace(own_lane, meetings_, own_lane, clock_).first->second;
  return lane.start(others_of(what.programs), collective_seconds_[static_cast<std::size_t>(number)],
                    what.lane);
}

void Rehearsal::gather(ChunkId chunk) {
  const ChunkPrice& price = prices_.of(own_, chunk);
  memory_.take(price.gathered_bytes);
  if (price.gather_group >= 0) weights_[chunk.value] = start_collective(price.gather_group);
}

void Rehearsal::reduce(ChunkId chunk, bool after_task) {
  const ChunkPrice& price = prices_.of(own_, chunk);
  const int number = price.reduce_group;
  if (number >= 0) {
    const PricedCollective& what = prices_.reductions()[number];
    if (after_task ? what.after_each_task : what.at_end)
      gradients_.push_back(start_collective(number));
  }
  if (!after_task && price.across_group >= 0)
    gradients_.push_back(start_across(price.across_group, number));
}

void Rehearsal::wait_gradients() {
  for (const PendingPtr& reduction : gradients_) wait(*reduction);
  gradients_.clear();
  memory_.give_back(task_bytes_.end_sums());
}

double Rehearsal::meet(const std::vector<RankId>& others, int tag, double time) {
  Meeting meeting(meetings_, others, tag, time);
  wait(meeting);
  return meeting.last();
}

void Rehearsal::wait(Pending& pending) {
  waiter_.wait(pending, [] { return std::string(); });
}

std::vector<RankId> Rehearsal::others_of(const std::vector<int>& programs) const {
  std::vector<RankId> others;
  for (const int p : programs) {
    if (programs_[p].device != device_) others.push_back(map_.rank_of(programs_[p].device));
  }
  return others;
}

/// The tag of a transfer is its number, which sender and receiver have in common.
int Rehearsal::tag_of(std::size_t number) const {
  return transfers_.of(own_, number) % transport_.num_tags();
}

std::string Rehearsal::place() const {
  return current_ == nullptr ? fmt::format("rank {}, between iterations", rank_.value)
                             : fmt::format("rank {}, at \"{}\"", rank_.value, to_string(*current_));
}

}  // namespace pptrain
