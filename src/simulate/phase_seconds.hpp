#pragma once

#include <array>

#include "cost/stage_time.hpp"
#include "simulate/prices.hpp"

namespace pptrain {

/// Seconds by Phase.
using PhaseSeconds = std::array<double, num_phases>;

PhaseSeconds& operator+=(PhaseSeconds& sum, const PhaseSeconds& more);
PhaseSeconds largest(const PhaseSeconds& a, const PhaseSeconds& b);

/// Computation of the layers of a part for one micro-batch: of each layer the slowest kind of the
/// group.
PhaseSeconds computing_seconds(const Instance& instance, const StagePart& part,
                               const ReplicaGroup& group);

/// Bandwidth that uplinks leave the tensor-parallel groups of a part's replicas, which sum at the
/// same time; infinite where none passes an uplink, and in runtimes whose collectives are not
/// pptrain's.
double tensor_bandwidth(const Instance& instance, const StagePart& part);

/// A replica of a part whose tensor-parallel group has no more than this bandwidth between its
/// members.
ReplicaGroup replica_group_with(double bandwidth, const Instance& instance, const StagePart& part,
                                int replica);

/// Collectives of the tensor-parallel group in them.
PhaseSeconds tensor_phase_seconds(const Instance& instance, const StagePart& part,
                                  const ReplicaGroup& group);

/// A member of a replica alone, without collectives.
ReplicaGroup member_group(const Cluster& cluster, const StagePart& part, int replica, int member);

}  // namespace pptrain
