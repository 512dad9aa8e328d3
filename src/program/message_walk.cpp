#include "program/message_walk.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

namespace pptrain {
namespace {

/// What identifies a transfer from one device to another.
using TransferKey = std::tuple<int, int, Payload, Place, std::int64_t, std::int64_t, int>;

TransferKey key_of(DeviceId from, DeviceId to, const Instruction& i) {
  return {from.value, to.value, i.payload, i.place, i.interval.begin, i.interval.end, i.units};
}

/// What identifies a task that all devices of a stage run together.
using TaskKey = std::tuple<int, Op, TaskPlace>;

/// What identifies a gather: stage, replica or shard, payload and place.
using GatherKey = std::tuple<int, int, Payload, Place>;

class Walker {
 public:
  Walker(const Plan& plan, const Programs& programs, ReplicaTasks replicas)
      : plan_(plan),
        programs_(programs),
        meets_(replicas == ReplicaTasks::meet),
        next_(programs.size(), 0) {}

  std::string run() {
    for (bool progress = true; progress && violation_.empty();) {
      progress = false;
      for (std::size_t p = 0; p < programs_.size(); ++p) progress |= advance(p);
    }
    if (!violation_.empty()) return violation_;
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (next_[p] < programs_[p].instructions.size() && !is_sent_somewhere(p)) {
        return fmt::format("device {} waits for ever at \"{}\": nobody sends that",
                           programs_[p].device.value,
                           to_string(programs_[p].instructions[next_[p]]));
      }
    }
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (next_[p] < programs_[p].instructions.size()) {
        return fmt::format("device {} waits for ever at \"{}\": a cycle of waits",
                           programs_[p].device.value,
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
    while (next_[p] < program.instructions.size() &&
           execute(program, program.instructions[next_[p]])) {
      ++next_[p];
      progress = true;
    }
    return progress;
  }

  /// Whether any program holds the send that program p is stuck for. A gather is stuck for those
  /// who do not come, as is a task.
  bool is_sent_somewhere(std::size_t p) const {
    const Instruction& wait = programs_[p].instructions[next_[p]];
    if (wait.op != Op::wait_receive) return true;
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
      violation_ = fmt::format("device {} has a message to itself: \"{}\"", program.device.value,
                               to_string(i));
    }
    if (i.op == Op::send && !sent_.insert(key_of(program.device, i.peer, i)).second) {
      violation_ = fmt::format("device {} sends twice: \"{}\"", program.device.value, to_string(i));
    }
    if (i.op == Op::post_receive && !posted_.insert(key_of(i.peer, program.device, i)).second) {
      violation_ = fmt::format("device {} posts twice: \"{}\"", program.device.value, to_string(i));
    }
    if (i.op == Op::gather_received) return gather(program, i);
    if (meets_ && meets(i.op)) return meet(program, i);
    if (i.op != Op::wait_receive) return violation_.empty();
    const TransferKey key = key_of(i.peer, program.device, i);
    if (posted_.count(key) == 0) {
      violation_ = fmt::format("device {} waits for what it did not post: \"{}\"",
                               program.device.value, to_string(i));
      return false;
    }
    if (sent_.erase(key) == 0) return false;
    posted_.erase(key);
    return true;
  }

  /// Whether all have come.
  bool gather(const Program& program, const Instruction& i) {
    const GatherGroup group = gather_group(plan_, program, i.payload);
    std::set<int>& present = gathering_[{program.stage.value, group.number, i.payload, i.place}];
    present.insert(program.device.value);
    return static_cast<int>(present.size()) == group.size;
  }

  /// Passes through layers with sums over the micro-batch; an evaluation forms none.
  static bool meets(Op op) {
    return op == Op::forward || op == Op::backward || op == Op::backward_input;
  }

  /// Whether all devices of the stage have come to the task.
  bool meet(const Program& program, const Instruction& i) {
    std::set<int>& present = meeting_[{program.stage.value, i.op, i.task()}];
    present.insert(program.device.value);
    const Stage& stage = plan_.stages[program.stage.index()];
    return static_cast<int>(present.size()) == stage.replicas * stage.tensor_parallel;
  }

  const Plan& plan_;
  const Programs& programs_;
  bool meets_;
  std::vector<std::size_t> next_;
  std::set<TransferKey> sent_;
  std::set<TransferKey> posted_;
  std::map<GatherKey, std::set<int>> gathering_;  // devices that have come
  std::map<TaskKey, std::set<int>> meeting_;      // devices that have come
  std::string violation_;
};

}  // namespace

std::string walk_messages(const Plan& plan, const Programs& programs, ReplicaTasks replicas) {
  return Walker(plan, programs, replicas).run();
}

}  // namespace pptrain
