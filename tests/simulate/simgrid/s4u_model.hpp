#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "program/program.hpp"

namespace pptrain {

/// A plan to simulate. Layers of the profile have one row of one sample for each kind.
struct SimulationCase {
  std::string name;
  Cluster cluster;
  Profile profile;
  Plan plan;
};

/// Programs of the plan in the order of its schedule, which pass the checker.
Programs programs_of(const SimulationCase& what);

/// Makespans of the cases by SimGrid's S4U, all in one run on platforms that do not touch.
///
/// A host for each device, of 1 flop/s, and an actor on it that executes the device's program: a
/// task is an execution of its seconds, a send is a put, a receive a get that was posted at the
/// start, since a transfer starts when it is sent. From one device to another one put goes after
/// the other, in an actor of its own.
///
/// A link for each uplink and direction, and one for each ordered pair of devices, which alone has
/// the latency: SimGrid adds up the latencies of a route, and ours is the largest on it, once.
/// Network model CM02 without the bound of TCP windows (TCP-gamma 0), cross traffic or correction
/// factors, so that n bytes alone take latency + n / bandwidth. Its shares are max-min fair for
/// routes of equal latency.
std::vector<double> simgrid_makespans(const std::vector<SimulationCase>& cases);

}  // namespace pptrain
