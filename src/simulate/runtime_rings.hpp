#pragma once

#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// A ring of devices in the runtime that a profile is of, where its collectives are not pptrain's
/// (`Profile::communication`): what it reaches of its slowest link, and what every collective takes
/// before data flows.
class RuntimeRing {
 public:
  /// A ring of `devices`. Where groups share uplinks it has those of its nodes with a group for
  /// every other device on each of them.
  RuntimeRing(const Instance& instance, const std::vector<DeviceId>& devices);
  /// A ring of `members` devices of these kinds, within a node, whose slowest link is known.
  RuntimeRing(const Instance& instance, const Link& slowest, int members,
              const std::vector<int>& kinds);

  /// Seconds of an all-reduce of `bytes`; 0 for one member.
  double all_reduce_seconds(double bytes) const;
  /// Seconds in which members gather `bytes` of which each has its slice, or scatter the sums of as
  /// many.
  double gather_seconds(double bytes) const;

 private:
  double moving(double bytes) const;

  const Communication* communication_;
  Link link_;
  double hop_ = 0.0;  ///< seconds from a member to the next, on average
  int members_ = 1;
};

/// Seconds that are left of a sum of gradients of `layers` layers that a runtime begins while their
/// backward pass, which takes `backward` seconds, goes on: at least the last layer's, and what the
/// sum slows the pass down.
double seconds_left(const Communication& communication, double seconds, double backward,
                    int layers);

}  // namespace pptrain
