#include "program/task_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "plan/parts.hpp"

namespace pptrain {
namespace {

/// Parts of an axis that have come.
class Received {
 public:
  void add(Interval part, int units) {
    parts_.push_back(part);
    units_ = units_ == 0 || units_ == units ? units : -1;
  }
  /// How much has come, in samples or rows.
  double size() const {
    std::int64_t sum = 0;
    for (const Interval& part : parts_) sum += part.size();
    return static_cast<double>(sum) / std::max(1, units_);
  }
  /// Whether they are these units, each once.
  bool is(Interval wanted, int units) const { return units_ == units && joined() == wanted; }
  /// The whole samples or rows that they are together, each once; nothing where they are not.
  std::optional<Interval> whole() const {
    const std::optional<Interval> all = joined();
    if (!all || units_ < 1 || all->begin % units_ != 0 || all->end % units_ != 0)
      return std::nullopt;
    return Interval{all->begin / units_, all->end / units_};
  }

 private:
  std::optional<Interval> joined() const {
    if (parts_.empty()) return std::nullopt;
    std::vector<Interval> parts = parts_;
    std::sort(parts.begin(), parts.end());
    Interval all = {parts.front().begin, parts.front().begin};
    for (const Interval& part : parts) {
      if (part.begin != all.end) return std::nullopt;
      all.end = part.end;
    }
    return all;
  }

  std::vector<Interval> parts_;
  int units_ = 0;  ///< of all parts; 0: none, -1: different ones
};

class TaskChecker {
 public:
  TaskChecker(const Plan& plan, const Program& program, const std::vector<TieEnd>& ends)
      : plan_(plan),
        program_(program),
        ends_(ends),
        stage_(plan.stages[program.stage.index()]),
        parts_(stage_),
        micro_batches_(plan.micro_batches),
        device_(program.device) {
    int chunk = 0;
    std::map<std::int64_t, int> first_layers;
    for (const Stage& stage : plan.stages) {
      for (const Interval& layers : stage.layers) {
        first_layers.emplace(layers.begin, 0);
        num_layers_ = std::max(num_layers_, layers.end);
      }
    }
    for (auto& [layer, number] : first_layers) number = chunk++;
    num_chunks_ = chunk;
    for (const Interval& layers : stage_.layers) chunks_[first_layers.at(layers.begin)] = layers;
  }

  std::string run() {
    for (const Instruction& instruction : program_.instructions) {
      std::string violation = visit(instruction);
      if (!violation.empty()) return fmt::format("device {}: {}", device_.value, violation);
    }
    if (!gathered_.empty())
      return fmt::format("device {}: never releases chunk {}", device_.value, *gathered_.begin());
    const bool trains = backward_ > 0;
    const std::int64_t tasks = static_cast<std::int64_t>(chunks_.size()) * micro_batches_;
    if (forward_ != tasks || (trains && (backward_ != tasks || weight_ != tasks))) {
      return fmt::format("device {} runs {} F, {} B and {} W instead of {} each", device_.value,
                         forward_, backward_, weight_, tasks);
    }
    if (trains && reduced_.size() != chunks_.size()) {
      return fmt::format("device {}: reduces the gradients of {} of its {} chunks", device_.value,
                         reduced_.size(), chunks_.size());
    }
    return "";
  }

  std::vector<TiedRows> tied_rows() const {
    std::vector<TiedRows> all;
    for (int e = 0; e < static_cast<int>(ends_.size()); ++e) {
      if (!holds(e)) continue;
      const Mesh& mesh = parts_.mesh_at(ends_[static_cast<std::size_t>(e)].layer);
      for (const int other : tied_to(e)) {
        const auto rows = tied_rows_.find({e, other});
        all.push_back({e, other, place_in(mesh, device_of_stage()).shard,
                       rows == tied_rows_.end() ? std::nullopt : std::optional(rows->second)});
      }
    }
    return all;
  }

 private:
  using InputKey = std::pair<Payload, Place>;
  static InputKey key_of(const Instruction& i) { return {i.payload, i.place}; }

  enum class State { none, forward_done, input_done, all_done };

  std::string visit(const Instruction& i) {
    switch (i.op) {
      case Op::wait_receive: received_[key_of(i)].add(i.interval, i.units); return "";
      case Op::gather_received: return gather_received(i);
      case Op::reduce_tied: return reduce_tied(i);
      case Op::forward:
      case Op::evaluate: ++forward_; return task(i, State::none, State::forward_done);
      case Op::backward_input: ++backward_; return task(i, State::forward_done, State::input_done);
      case Op::backward_weight: ++weight_; return task(i, State::input_done, State::all_done);
      case Op::backward:
        ++backward_, ++weight_;
        return task(i, State::forward_done, State::all_done);
      case Op::hand_over: return hand_over(i);
      case Op::reduce_gradients: return reduce(i);
      case Op::gather_parameters:
        return gathered_.insert(i.chunk().value).second ? "" : to_string(i) + " comes twice";
      case Op::release_parameters:
        return gathered_.erase(i.chunk().value) == 1
                   ? ""
                   : to_string(i) + " comes without gathering them";
      default: return "";
    }
  }

  int device_of_stage() const { return program_.replica * stage_.tensor_parallel + program_.shard; }

  /// Whether there is an end of this number, and the stage has it.
  bool holds(int end) const {
    return 0 <= end && end < static_cast<int>(ends_.size()) &&
           ends_[static_cast<std::size_t>(end)].stage == program_.stage;
  }
  /// The other ends of the parameter that `end` is an end of.
  std::vector<int> tied_to(int end) const {
    std::vector<int> others;
    for (std::size_t f = 0; f < ends_.size(); ++f) {
      if (are_tied(ends_[static_cast<std::size_t>(end)], ends_[f]))
        others.push_back(static_cast<int>(f));
    }
    return others;
  }

  /// From the task before to the neighbouring chunk, which is this device's too, or from one end to
  /// the other.
  std::string hand_over(const Instruction& i) {
    if (i.is_tied()) {
      received_[key_of(i)].add(i.interval, i.units);
      return holds(i.tie().sending_end) ? "" : to_string(i) + " comes from another stage";
    }
    const bool forwards = i.payload == Payload::activation;
    const std::pair<int, int> from = {i.chunk().value + (forwards ? 0 : 1), i.micro_batch().value};
    const int to = i.chunk().value + (forwards ? 1 : 0);
    if (last_task_ != from || last_is_forward_ != forwards)
      return to_string(i) + " does not follow its task";
    if (chunks_.count(to) == 0) return to_string(i) + " is for a chunk of another stage";
    received_[key_of(i)].add(i.interval, i.units);
    return "";
  }

  /// Needs the device's own slice, no more and no less.
  std::string gather_received(const Instruction& i) {
    const GatherGroup group = gather_group(plan_, program_, i.payload);
    const std::int64_t size = i.interval.size() / group.size;
    const std::int64_t begin = i.interval.begin + group.member * size;
    Received& received = received_[key_of(i)];
    if (!received.is({begin, begin + size}, i.units))
      return to_string(i) + " comes without its slice";
    received = {};
    received.add(i.interval, i.units);
    return "";
  }

  std::string reduce_tied(const Instruction& i) {
    const int end = i.tie().receiving_end;
    if (!holds(end)) return to_string(i) + " is for another stage";
    for (const int other : tied_to(end)) {
      const std::optional<Interval> rows =
          received_[{Payload::tied_gradient, TiePlace{end, other}}].whole();
      if (!rows) return to_string(i) + " comes without rows in one piece";
      tied_rows_[{end, other}] = *rows;
    }
    return "";
  }

  std::string reduce(const Instruction& i) {
    if (weights_of_[i.chunk().value] != micro_batches_)
      return to_string(i) + " comes before its last W";
    return reduced_.insert(i.chunk().value).second ? "" : to_string(i) + " comes twice";
  }

  std::string task(const Instruction& i, State before, State after) {
    const int chunk = i.chunk().value;
    if (chunks_.count(chunk) == 0)
      return fmt::format("{} runs a chunk of another stage", to_string(i));
    if (stage_.gathers_chunks() && i.op != Op::backward_weight && gathered_.count(chunk) == 0) {
      return to_string(i) + " has no weights";
    }
    State& state = states_[{chunk, i.micro_batch().value}];
    if (state != before) return fmt::format("{} is out of order or runs twice", to_string(i));
    state = after;
    const bool is_forward = before == State::none;
    if (after == State::all_done) ++weights_of_[chunk];
    last_task_ = {chunk, i.micro_batch().value};
    last_is_forward_ = is_forward;
    if (is_forward && chunk > 0) return input(i, Payload::activation, chunk - 1);
    if (before == State::forward_done && chunk + 1 < num_chunks_)
      return input(i, Payload::gradient, chunk);
    return "";
  }

  std::string input(const Instruction& i, Payload payload, int cut) {
    const Received& received = received_[{payload, TaskPlace{ChunkId(cut), i.micro_batch()}}];
    const Interval layers = chunks_.at(i.chunk().value);
    const Mesh& mesh =
        parts_.mesh_at(payload == Payload::activation ? layers.begin : layers.end - 1);
    const Interval samples =
        mesh.samples[static_cast<std::size_t>(place_in(mesh, device_of_stage()).replica)];
    if (samples.empty() || received.whole() == samples) return "";
    return fmt::format("{} has {} of its {} samples", to_string(i), received.size(),
                       samples.size());
  }

  const Plan& plan_;
  const Program& program_;
  const std::vector<TieEnd>& ends_;
  const Stage& stage_;
  StageParts parts_;
  std::int64_t micro_batches_;
  DeviceId device_;
  int num_chunks_ = 0;
  std::int64_t num_layers_ = 0;
  std::map<int, Interval> chunks_;  // with their layers
  std::map<InputKey, Received> received_;
  std::map<std::pair<int, int>, Interval> tied_rows_;  // by the end to which they come, and the one
                                                       // they come from
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

}  // namespace

TaskReport check_tasks(const Plan& plan, const Program& program, const std::vector<TieEnd>& ends) {
  TaskChecker checker(plan, program, ends);
  std::string violation = checker.run();
  return {std::move(violation), checker.tied_rows()};
}

}  // namespace pptrain
