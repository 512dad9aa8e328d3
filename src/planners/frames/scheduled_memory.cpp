// What stages of a frame hold, by the closed form, and whether they fit.
#include <algorithm>

#include "cost/state_slices.hpp"
#include "planners/frames/scheduled_cost.hpp"

namespace pptrain {

/// What a member of a stage holds of the state of a parameter, in equal slices.
double ScheduledCost::state_bytes(int stage, int zero_stage) const {
  const State& state = state_[static_cast<std::size_t>(zero_stage)];
  return state.kept + state.divided / costs_.kind(stage).sharers;
}

/// Bytes of a replica beside its state: activations and the workspace.
ScheduledCost::BesideState ScheduledCost::beside_state(int stage, bool again) const {
  const auto s = static_cast<std::size_t>(stage);
  return {costs_.instance().profile.workspace_bytes,
          held_[s].moment[again] + in_flight_[s] * held_[s].stored[again]};
}

ScheduledCost::Fit ScheduledCost::fit(int stage, bool again, int zero_stage) const {
  const double state =
      state_bytes(stage, zero_stage) * held_[static_cast<std::size_t>(stage)].parameters;
  const BesideState beside = beside_state(stage, again);
  double worst = 0.0;
  for (const StageKind::Holder& holder : costs_.kind(stage).holders) {
    const double needed = state + beside.bytes(holder.samples);
    if (needed > holder.memory) worst = std::max(worst, needed / holder.memory - 1.0);
  }
  if (worst == 0.0 || !may_have_slices(stage, zero_stage)) return {worst, 1.0};
  const Fit by_slices = fit_by_slices(stage, beside, zero_stage);
  return by_slices.overrun < worst ? by_slices : Fit{worst, 1.0};
}

bool ScheduledCost::may_have_slices(int stage, int zero_stage) const {
  return modes_.unlike_slices && zero_stage > 0 && costs_.kind(stage).has_unlike_slices();
}

/// The overrun of a stage that does not fit even so is what its devices lack together, as a part of
/// their memory, or what one of them lacks without any slice.
ScheduledCost::Fit ScheduledCost::fit_by_slices(int stage, const BesideState& beside,
                                                int zero_stage) const {
  const StageKind& kind = costs_.kind(stage);
  const State& state = state_[static_cast<std::size_t>(zero_stage)];
  const double parameters = held_[static_cast<std::size_t>(stage)].parameters;
  double memory = 0.0;
  double room = 0.0;
  double worst = 0.0;
  rooms_.clear();
  for (const StageKind::Holder& holder : kind.holders) {
    const double own = holder.memory - state.kept * parameters - beside.bytes(holder.samples);
    rooms_.push_back({holder.replicas, own / (state.divided * parameters)});
    memory += holder.replicas * holder.memory;
    room += holder.replicas * own;
    worst = std::max(worst, -own / holder.memory);
  }
  const double lacking = state.divided * parameters - room;
  if (worst > 0.0 || lacking > 0.0) return {std::max(worst, lacking / memory), 1.0};
  return {0.0, largest_slice(rooms_).value_or(1.0) * kind.sharers};
}

std::vector<Interval> ScheduledCost::slices_of(int stage) const {
  const StageTerms& terms = terms_[static_cast<std::size_t>(stage)];
  if (terms.largest_slice == 1.0) return {};
  const StageKind& kind = costs_.kind(stage);
  fit_by_slices(stage, beside_state(stage, terms.again), terms.zero_stage);
  std::vector<double> rooms;
  for (const int holder : kind.holder_of)
    rooms.push_back(rooms_[static_cast<std::size_t>(holder)].part);
  return slices_by_room(rooms);
}

/// Bytes of a layer on a device of a stage by whatever saves most memory.
double ScheduledCost::least_bytes(int stage, const StageKind::Holder& holder, int layer) const {
  const std::vector<double>& stored = stored_sums(stage, may_compute_again());
  const auto l = static_cast<std::size_t>(layer);
  return state_bytes(stage, strongest_zero()) * costs_.sums().parameters(layer, layer + 1) /
             costs_.kind(stage).tensor +
         holder.samples * in_flight_[static_cast<std::size_t>(stage)] * (stored[l + 1] - stored[l]);
}

/// Bytes of the layers of which a device of a stage takes most, measured by what these take on
/// `measure` of the first stage.
double ScheduledCost::most_measured(int stage, const StageKind::Holder& holder,
                                    const StageKind::Holder& measure) const {
  const std::vector<double>& moments = costs_.kind(stage).held->moment[may_compute_again()];
  const double moment = holder.samples * *std::min_element(moments.begin(), moments.end());
  const double room = holder.memory - costs_.instance().profile.workspace_bytes - moment;
  double most = 0.0;
  for (const auto& [layer, count] : costs_.tables().unlike_layers()) {
    const double needed = least_bytes(stage, holder, layer);
    const double measured = least_bytes(0, measure, layer);
    if (measured > 0.0) most = std::max(most, needed > 0.0 ? measured / needed : infinity);
  }
  return std::max(0.0, room * most);
}

/// Every stage is filled with the layers of which its device takes most, measured by what layers
/// take on the first stage (the bound of a fractional knapsack), or of which its devices take most
/// together where slices of the state need not be equal. Where all stages together take less than
/// the model, no division fits.
bool ScheduledCost::may_fit() const {
  const StageKind::Holder& measure = costs_.kind(0).holders.front();
  double model = 0.0;
  for (const auto& [layer, count] : costs_.tables().unlike_layers())
    model += count * least_bytes(0, measure, layer);
  for (int s = 0; s < static_cast<int>(in_flight_.size()) && model > 0.0; ++s) {
    const StageKind& kind = costs_.kind(s);
    const bool together = may_have_slices(s, strongest_zero());
    double least = infinity;  // over the devices of the stage
    for (const StageKind::Holder& holder :
         together ? std::vector{kind.mean_holder()} : kind.holders)
      least = std::min(least, most_measured(s, holder, measure));
    model -= least;
  }
  return model <= 1e-9 * measure.memory;
}

bool ScheduledCost::may_compute_again() const {
  return modes_.recompute == RecomputeRule::full || modes_.recompute == RecomputeRule::needed;
}

}  // namespace pptrain
