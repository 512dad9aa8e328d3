#include <algorithm>
#include <tuple>

#include "simulate/simulator.hpp"

namespace pptrain {

/// Only when all that happens at this time has happened, rounding left aside: the order in which it
/// does is of no account then.
void Simulator::show_state(double now, RepetitionWatch& watch) const {
  constexpr double rounding = 1e-12;
  if (events_.empty() || events_.next_time() <= now * (1.0 + rounding)) return;
  SimulatedState state;
  state.time = now;
  for (const ProgramProgress& progress : progress_) state.next.push_back(progress.next);
  if (!watch.is_within(state.next)) return;
  state.record = state_at(now);
  state.devices = result_.devices;
  watch.show(std::move(state));
}

/// Where a program stands, and so what it has sent and received, is not part of it.
StateRecord Simulator::state_at(double now) const {
  StateRecord state;
  for (int p = 0; p < num_programs(); ++p) describe(now, p, state);
  for (const int arrived : group_arrived_) state.add_count(arrived);
  for (const char has : has_weights_) state.add_count(has);
  state.add_count(all_arrived_);
  deliveries_.describe(now, state);
  collectives_.describe(now, state);
  received_gathers_.describe(state);
  describe_events(now, state);
  return state;
}

void Simulator::describe(double now, int p, StateRecord& state) const {
  const ProgramProgress& progress = progress_[p];
  state.add_count(static_cast<std::int64_t>(progress.state));
  state.add_count(progress.stored);
  state.add_count(progress.pending_reductions);
  state.add_count(progress.started);
  const bool waits = progress.state != State::computes && progress.state != State::ready;
  state.add_seconds(waits ? now - progress.blocked_since : 0.0);
  for (const double bytes : {progress.stored_bytes, progress.received_bytes,
                             progress.reduction_bytes, progress.bucket_bytes}) {
    state.add_bytes(bytes);
  }
  progress.tasks.describe(state);
  weight_waits_[static_cast<std::size_t>(p)].describe(now, state);
}

/// What is scheduled, by what it is about: numbers of transfers and collectives grow with time.
void Simulator::describe_events(double now, StateRecord& state) const {
  std::vector<std::tuple<Event::Kind, int, double, double>> all;  // about what, when, and since
                                                                  // when it is under way
  for (const Event& event : events_.scheduled()) {
    if (network_.is_stale(event)) continue;
    int about = event.index;
    double since = 0.0;
    if (event.kind == Event::Kind::flow_end) about = network_.route_of(event);
    if (event.kind == Event::Kind::arrival) {
      about = deliveries_.transfer(event.index).route;
      since = now - deliveries_[event.index].started;
    }
    if (event.kind == Event::Kind::reduction_end) about = collectives_.of(event.index).number;
    all.emplace_back(event.kind, about, event.time - now, since);
  }
  std::sort(all.begin(), all.end());
  for (const auto& [kind, about, when, since] : all) {
    state.add_count(static_cast<std::int64_t>(kind));
    state.add_count(about);
    state.add_seconds(when);
    state.add_seconds(since);
  }
}

}  // namespace pptrain
