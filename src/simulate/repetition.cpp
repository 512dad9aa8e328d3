#include "simulate/repetition.hpp"

namespace pptrain {
namespace {

/// States a repetition may span: cycles through all stages of a pipeline come back after as many
/// micro-batches.
constexpr std::size_t most_states = 64;
/// Seconds of two equal states differ at most by this part of what lies between them, so that the
/// whole is wrong by no more than this part. Rounding alone makes some 10^-14.
constexpr double rounding = 1e-11;

}  // namespace

RepetitionWatch::RepetitionWatch(std::vector<RepeatedInstructions> programs)
    : programs_(std::move(programs)), next_look_(programs_.front().begin) {}

bool RepetitionWatch::is_within(const std::vector<std::size_t>& next) {
  const std::size_t length = programs_.front().length;
  next_look_ += ((next.front() - next_look_) / length + 1) * length;
  bool within = true;
  for (std::size_t p = 0; p < programs_.size(); ++p) {
    within = within && next[p] > programs_[p].begin;
    // An instruction looks at the one before it, and a task at the next one, which is not farther
    // than a period.
    looks_ = looks_ && next[p] + programs_[p].length <= programs_[p].end;
  }
  return within && looks_;
}

void RepetitionWatch::show(SimulatedState state) {
  for (auto earlier = states_.rbegin(); earlier != states_.rend(); ++earlier) {
    if (!repeats(*earlier, state)) continue;
    looks_ = false;
    found_ = Repetition{periods_between(*earlier, state), state.time - earlier->time, {}};
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      SimulatedDevice& grows = found_->devices.emplace_back();
      grows.busy_seconds = state.devices[p].busy_seconds - earlier->devices[p].busy_seconds;
      grows.communication_seconds =
          state.devices[p].communication_seconds - earlier->devices[p].communication_seconds;
    }
    return;
  }
  states_.push_back(std::move(state));
  if (states_.size() > most_states) states_.pop_front();
}

int RepetitionWatch::periods_between(const SimulatedState& earlier,
                                     const SimulatedState& later) const {
  return static_cast<int>((later.next.front() - earlier.next.front()) / programs_.front().length);
}

bool RepetitionWatch::repeats(const SimulatedState& earlier, const SimulatedState& later) const {
  const auto periods = static_cast<std::size_t>(periods_between(earlier, later));
  if (periods == 0) return false;
  for (std::size_t p = 0; p < programs_.size(); ++p) {
    if (later.next[p] - earlier.next[p] != periods * programs_[p].length) return false;
  }
  return later.record.same(earlier.record, rounding * (later.time - earlier.time));
}

}  // namespace pptrain
