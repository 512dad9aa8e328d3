#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "simulate/events.hpp"
#include "simulate/network.hpp"
#include "simulate/prices.hpp"
#include "simulate/state_record.hpp"

namespace pptrain {

/// The route of a collective in the network. `uses`: the links that it passes, each with the bytes
/// that pass it of this collective and of those that it stands for.
int add_collective_route(Network& network, const PricedCollective& priced,
                         std::vector<Network::LinkUse> uses);

/// Seconds of each collective beside those of the same kind, chunk and level (within groups of
/// replicas, or between them), which start with it where all ranks are in step: the bytes of all
/// pass an uplink in that time.
std::vector<double> seconds_together(const std::vector<PricedCollective>& priced);

/// Collectives beside computation: each starts when the last member has come to it and the one
/// before on the same lane, and on those that it is behind, has ended. Those that pass uplinks
/// share them with all else that does.
class Collectives {
 public:
  /// One that waits, runs, or has run.
  struct Running {
    int number = 0;        ///< of the priced collective
    double started = 0.0;  ///< when all had come, while it waits
    bool runs = false;
  };

  /// `routes`: by priced collective, of those that pass uplinks. What the network calls transfers
  /// has numbers from `first_transfer` on here.
  Collectives(const std::vector<PricedCollective>& priced, int num_lanes,
              const std::vector<int>& routes, int first_transfer, Network& network,
              EventQueue& events);

  /// A member comes; the collective starts when all have. `Event::Kind::reduction_end` or an event
  /// of the network is scheduled.
  void come(double now, int program, int number);
  /// The collective that an event's index means, or a transfer of the network less
  /// `first_transfer`, has ended; those that waited for it start.
  Running end(double now, int index);
  /// The collective that an event's index means.
  const Running& of(int index) const { return running_[index]; }

  /// Adds who has come to what, and what waits and runs on the lanes.
  void describe(double now, StateRecord& state) const;

 private:
  bool may_start(int index) const;
  void start_first(double now, int lane);
  const PricedCollective& priced_of(int index) const { return priced_[running_[index].number]; }

  const std::vector<PricedCollective>& priced_;
  const std::vector<int>& routes_;
  int first_transfer_;
  Network& network_;
  EventQueue& events_;
  std::vector<std::vector<int>> arrivals_;  // by collective and member
  std::vector<int> started_;                // by collective
  std::vector<std::deque<int>> lanes_;      // what waits, the first of which may run
  std::vector<std::vector<int>> behind_;    // by lane: lanes that wait for it too
  std::vector<Running> running_;
};

}  // namespace pptrain
