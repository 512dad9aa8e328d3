#include "simulate/collectives.hpp"

#include <algorithm>

namespace pptrain {

Collectives::Collectives(const std::vector<PricedCollective>& priced, int num_lanes, EventQueue& events)
    : priced_(priced),
      events_(events),
      arrivals_(priced.size()),
      started_(priced.size(), 0),
      lane_free_(static_cast<std::size_t>(num_lanes), 0.0) {}

std::optional<Collectives::Running> Collectives::come(double now, int program, int number) {
  const PricedCollective& collective = priced_[number];
  std::vector<int>& arrivals = arrivals_[number];
  arrivals.resize(collective.programs.size());
  ++arrivals[std::find(collective.programs.begin(), collective.programs.end(), program) - collective.programs.begin()];
  if (*std::min_element(arrivals.begin(), arrivals.end()) == started_[number]) return std::nullopt;
  ++started_[number];
  double& lane_free = lane_free_[collective.lane];
  double start = std::max(now, lane_free);
  for (const int lane : collective.behind) start = std::max(start, lane_free_[lane]);
  lane_free = start + collective.seconds;
  events_.push(lane_free, Event::Kind::reduction_end, static_cast<int>(running_.size()));
  running_.push_back({number, start, lane_free});
  return running_.back();
}

void Collectives::describe(double now, StateRecord& state) const {
  for (std::size_t c = 0; c < arrivals_.size(); ++c) {
    for (const int arrived : arrivals_[c]) state.add_count(arrived - started_[c]);
  }
  for (const double free : lane_free_) state.add_seconds(std::max(0.0, free - now));
}

}  // namespace pptrain
