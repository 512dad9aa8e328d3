#pragma once

#include <optional>
#include <vector>

#include "simulate/events.hpp"
#include "simulate/prices.hpp"
#include "simulate/state_record.hpp"

namespace pptrain {

/// Collectives beside computation: each starts when the last member has come to it and the one before on the same
/// lane, and on those that it is behind, has ended.
class Collectives {
 public:
  /// One that runs, or has run.
  struct Running {
    int number = 0;  ///< of the priced collective
    double started = 0.0;
    double ends = 0.0;
  };

  Collectives(const std::vector<PricedCollective>& priced, int num_lanes, EventQueue& events);

  /// A member comes; returns what starts now or when the lane is free. `Event::Kind::reduction_end` is scheduled.
  std::optional<Running> come(double now, int program, int number);
  /// The collective that an event's index means.
  const Running& of(int index) const { return running_[index]; }

  /// Adds who has come to what, and for how long lanes are taken.
  void describe(double now, StateRecord& state) const;

 private:
  const std::vector<PricedCollective>& priced_;
  EventQueue& events_;
  std::vector<std::vector<int>> arrivals_;  // by collective and member
  std::vector<int> started_;                // by collective
  std::vector<double> lane_free_;
  std::vector<Running> running_;
};

}  // namespace pptrain
