#include "program/check.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// What identifies a transfer from one device to another.
using TransferKey = std::tuple<int, int, Payload, int, int, std::int64_t, std::int64_t>;

TransferKey key_of(DeviceId from, DeviceId to, const Instruction& i) {
  return {from.value, to.value, i.payload, i.chunk.value, i.micro_batch.value, i.interval.begin, i.interval.end};
}

/// Runs all programs with infinitely fast devices: a program advances unless it waits for a
/// message that was not sent. What cannot end is a cycle of waits or a missing send.
class Walker {
 public:
  explicit Walker(const Programs& programs) : programs_(programs), next_(programs.size(), 0) {}

  std::string run() {
    for (bool progress = true; progress && violation_.empty();) {
      progress = false;
      for (std::size_t p = 0; p < programs_.size(); ++p) progress |= advance(p);
    }
    if (!violation_.empty()) return violation_;
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (next_[p] < programs_[p].instructions.size() && !is_sent_somewhere(p)) {
        return fmt::format("device {} waits for ever at \"{}\": nobody sends that", programs_[p].device.value,
                           to_string(programs_[p].instructions[next_[p]]));
      }
    }
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (next_[p] < programs_[p].instructions.size()) {
        return fmt::format("device {} waits for ever at \"{}\": a cycle of waits", programs_[p].device.value,
                           to_string(programs_[p].instructions[next_[p]]));
      }
    }
    if (!posted_.empty()) return "a receive is posted but never waited for";
    if (!sent_.empty()) return "a message is sent but never received";
    return "";
  }

 private:
  bool advance(std::size_t p) {
    const Program& program = programs_[p];
    bool progress = false;
    while (next_[p] < program.instructions.size() && execute(program, program.instructions[next_[p]])) {
      ++next_[p];
      progress = true;
    }
    return progress;
  }

  /// Whether any program holds the send that program p is stuck for.
  bool is_sent_somewhere(std::size_t p) const {
    const Instruction& wait = programs_[p].instructions[next_[p]];
    const TransferKey key = key_of(wait.peer, programs_[p].device, wait);
    for (const Program& program : programs_) {
      for (const Instruction& i : program.instructions) {
        if (i.op == Op::send && key_of(program.device, i.peer, i) == key) return true;
      }
    }
    return false;
  }

  bool execute(const Program& program, const Instruction& i) {
    if ((i.op == Op::send || i.op == Op::post_receive) && i.peer == program.device) {
      violation_ = fmt::format("device {} has a message to itself: \"{}\"", program.device.value, to_string(i));
    }
    if (i.op == Op::send && !sent_.insert(key_of(program.device, i.peer, i)).second) {
      violation_ = fmt::format("device {} sends twice: \"{}\"", program.device.value, to_string(i));
    }
    if (i.op == Op::post_receive && !posted_.insert(key_of(i.peer, program.device, i)).second) {
      violation_ = fmt::format("device {} posts twice: \"{}\"", program.device.value, to_string(i));
    }
    if (i.op != Op::wait_receive) return violation_.empty();
    const TransferKey key = key_of(i.peer, program.device, i);
    if (posted_.count(key) == 0) {
      violation_ = fmt::format("device {} waits for what it did not post: \"{}\"", program.device.value, to_string(i));
      return false;
    }
    if (sent_.erase(key) == 0) return false;
    posted_.erase(key);
    return true;
  }

  const Programs& programs_;
  std::vector<std::size_t> next_;
  std::set<TransferKey> sent_;
  std::set<TransferKey> posted_;
  std::string violation_;
};

/// Follows one program: inputs before tasks, every task once and in the order F, B, W, the gradients of a
/// chunk reduced once and after its last W, gathered weights there while they are needed and no longer.
class TaskChecker {
 public:
  TaskChecker(const Plan& plan, const Program& program)
      : stage_(plan.stages[program.stage.index()]),
        samples_(stage_.samples[program.replica]),
        micro_batches_(plan.micro_batches),
        device_(program.device) {
    int chunk = 0;
    std::map<std::int64_t, int> first_layers;
    for (const Stage& stage : plan.stages) {
      for (const Interval& layers : stage.layers) first_layers.emplace(layers.begin, 0);
    }
    for (auto& [layer, number] : first_layers) number = chunk++;
    num_chunks_ = chunk;
    for (const Interval& layers : stage_.layers) chunks_.insert(first_layers.at(layers.begin));
  }

  std::string run(const Program& program) {
    for (const Instruction& instruction : program.instructions) {
      std::string violation = visit(instruction);
      if (!violation.empty()) return fmt::format("device {}: {}", device_.value, violation);
    }
    if (!gathered_.empty()) return fmt::format("device {}: never releases chunk {}", device_.value, *gathered_.begin());
    const bool trains = backward_ > 0;
    const std::int64_t tasks = static_cast<std::int64_t>(chunks_.size()) * micro_batches_;
    if (forward_ != tasks || (trains && (backward_ != tasks || weight_ != tasks))) {
      return fmt::format("device {} runs {} F, {} B and {} W instead of {} each", device_.value, forward_, backward_,
                         weight_, tasks);
    }
    if (trains && reduced_.size() != chunks_.size()) {
      return fmt::format("device {}: reduces the gradients of {} of its {} chunks", device_.value, reduced_.size(),
                         chunks_.size());
    }
    return "";
  }

 private:
  enum class State { none, forward_done, input_done, all_done };

  std::string visit(const Instruction& i) {
    if (i.op == Op::wait_receive && i.payload != Payload::tied_gradient) {
      received_[{i.payload, i.chunk.value, i.micro_batch.value}] += i.interval.size();
      return "";
    }
    switch (i.op) {
      case Op::forward:
      case Op::evaluate: ++forward_; return task(i, State::none, State::forward_done);
      case Op::backward_input: ++backward_; return task(i, State::forward_done, State::input_done);
      case Op::backward_weight: ++weight_; return task(i, State::input_done, State::all_done);
      case Op::backward: ++backward_, ++weight_; return task(i, State::forward_done, State::all_done);
      case Op::hand_over: return hand_over(i);
      case Op::reduce_gradients: return reduce(i);
      case Op::gather_parameters: return gathered_.insert(i.chunk.value).second ? "" : to_string(i) + " comes twice";
      case Op::release_parameters:
        return gathered_.erase(i.chunk.value) == 1 ? "" : to_string(i) + " comes without gathering them";
      default: return "";
    }
  }

  /// From the task before to the neighbouring chunk, which is this device's too.
  std::string hand_over(const Instruction& i) {
    const bool forwards = i.payload == Payload::activation;
    const std::pair<int, int> from = {i.chunk.value + (forwards ? 0 : 1), i.micro_batch.value};
    const int to = i.chunk.value + (forwards ? 1 : 0);
    if (last_task_ != from || last_is_forward_ != forwards) return to_string(i) + " does not follow its task";
    if (chunks_.count(to) == 0) return to_string(i) + " is for a chunk of another stage";
    received_[{i.payload, i.chunk.value, i.micro_batch.value}] += i.interval.size();
    return "";
  }

  std::string reduce(const Instruction& i) {
    if (weights_of_[i.chunk.value] != micro_batches_) return to_string(i) + " comes before its last W";
    return reduced_.insert(i.chunk.value).second ? "" : to_string(i) + " comes twice";
  }

  std::string task(const Instruction& i, State before, State after) {
    const int chunk = i.chunk.value;
    if (chunks_.count(chunk) == 0) return fmt::format("{} runs a chunk of another stage", to_string(i));
    if (stage_.gathers_chunks() && i.op != Op::backward_weight && gathered_.count(chunk) == 0) {
      return to_string(i) + " has no weights";
    }
    State& state = states_[{chunk, i.micro_batch.value}];
    if (state != before) return fmt::format("{} is out of order or runs twice", to_string(i));
    state = after;
    const bool is_forward = before == State::none;
    if (after == State::all_done) ++weights_of_[chunk];
    last_task_ = {chunk, i.micro_batch.value};
    last_is_forward_ = is_forward;
    if (is_forward && chunk > 0) return input(i, Payload::activation, chunk - 1);
    if (before == State::forward_done && chunk + 1 < num_chunks_) return input(i, Payload::gradient, chunk);
    return "";
  }

  std::string input(const Instruction& i, Payload payload, int cut) {
    const std::int64_t received = received_[{payload, cut, i.micro_batch.value}];
    if (received == samples_.size()) return "";
    return fmt::format("{} has {} of its {} samples", to_string(i), received, samples_.size());
  }

  const Stage& stage_;
  Interval samples_;
  std::int64_t micro_batches_;
  DeviceId device_;
  int num_chunks_ = 0;
  std::set<int> chunks_;
  std::map<std::tuple<Payload, int, int>, std::int64_t> received_;
  std::map<std::pair<int, int>, State> states_;
  std::pair<int, int> last_task_ = {-1, -1};
  bool last_is_forward_ = false;
  std::map<int, std::int64_t> weights_of_;
  std::set<int> reduced_;
  std::set<int> gathered_;
  std::int64_t forward_ = 0;
  std::int64_t backward_ = 0;
  std::int64_t weight_ = 0;
};

/// Collectives must come in one order on all members of a group; replicas and shards of a stage
/// are the groups, and every rank takes part in the sums of loss and norm.
std::string check_collectives(const Programs& programs) {
  std::map<int, std::pair<std::vector<int>, std::vector<int>>> of_stage;
  std::vector<int> of_all;
  for (const Program& program : programs) {
    std::vector<int> reductions;
    std::vector<int> gathers;  // in a group of their own
    std::vector<int> sums;
    for (const Instruction& i : program.instructions) {
      if (i.op == Op::reduce_gradients) reductions.push_back(i.chunk.value);
      if (i.op == Op::gather_parameters) gathers.push_back(i.chunk.value);
      if (i.op == Op::reduce_loss || i.op == Op::reduce_norm) sums.push_back(static_cast<int>(i.op));
    }
    const std::pair of_program = {reductions, gathers};
    const auto [expected, is_first] = of_stage.emplace(program.stage.value, of_program);
    if (&program == &programs.front()) of_all = sums;
    if (expected->second != of_program || of_all != sums) {
      return fmt::format("device {} comes to its collectives in another order than its group", program.device.value);
    }
  }
  return "";
}

}  // namespace

std::string find_violation(const Plan& plan, const Programs& programs) {
  for (const Program& program : programs) {
    std::string violation = TaskChecker(plan, program).run(program);
    if (!violation.empty()) return violation;
  }
  std::string violation = check_collectives(programs);
  return violation.empty() ? Walker(programs).run() : violation;
}

void check_programs(const Plan& plan, const Programs& programs) {
  const std::string violation = find_violation(plan, programs);
  PPTRAIN_ASSERT(violation.empty(), "the compiled programs are wrong: {}", violation);
}

}  // namespace pptrain
