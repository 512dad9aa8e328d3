#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "simulate/repeated_tasks.hpp"
#include "simulate/simulate.hpp"
#include "simulate/state_record.hpp"

namespace pptrain {

/// A simulation at a moment.
struct SimulatedState {
  double time = 0.0;
  std::vector<std::size_t> next;  ///< instruction, by program
  StateRecord record;
  std::vector<SimulatedDevice> devices;  ///< sums so far, by program
};

/// From one state to the next that is equal to it.
struct Repetition {
  int periods = 0;  ///< of the programs
  double seconds = 0.0;
  std::vector<SimulatedDevice> devices;  ///< what each program's sums grow by
};

/// Looks for two equal states of a simulation while all of its programs repeat themselves. What
/// lies between them comes again as often as the programs have further such periods, whatever their
/// number: the instructions that are read up to the second state, and up to a period after it, are
/// the same.
class RepetitionWatch {
 public:
  /// By program.
  explicit RepetitionWatch(std::vector<RepeatedInstructions> programs);

  /// Whether a state should be shown, now that the first program has come to instruction `next`.
  bool wants(std::size_t next) const { return looks_ && next >= next_look_; }
  /// Whether programs which have come so far all repeat themselves; ends the search when one is
  /// beyond that.
  bool is_within(const std::vector<std::size_t>& next);
  /// Shown in the order of time.
  void show(SimulatedState state);

  /// What repeats, once two equal states were shown; nothing until then.
  const std::optional<Repetition>& found() const { return found_; }

 private:
  bool repeats(const SimulatedState& earlier, const SimulatedState& later) const;
  int periods_between(const SimulatedState& earlier, const SimulatedState& later) const;

  std::vector<RepeatedInstructions> programs_;
  std::deque<SimulatedState> states_;  // the last ones
  std::size_t next_look_ = 0;          // instruction of the first program
  bool looks_ = true;
  std::optional<Repetition> found_;
};

}  // namespace pptrain
