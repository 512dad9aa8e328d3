#pragma once

#include <array>

#include "cost/stage_time.hpp"
#include "simulate/prices.hpp"

namespace pptrain {

/// Seconds by Phase.
using PhaseSeconds = std::array<double, num_phases>;

PhaseSeconds& operator+=(PhaseSeconds& sum, const PhaseSeconds& more);
PhaseSeconds largest(const PhaseSeconds& a, const PhaseSeconds& b);

/// Computation of the layers of a part for one micro-batch: of each layer the slowest kind of the group.
PhaseSeconds computing_seconds(const Instance& instance, const StagePart& part, const ReplicaGroup& group);

/// Collectives of the tensor-parallel group in them.
PhaseSeconds tensor_phase_seconds(const Instance& instance, const StagePart& part, const ReplicaGroup& group);

/// A member of a replica alone, without collectives.
ReplicaGroup member_group(const Cluster& cluster, const StagePart& part, int replica, int member);

}  // namespace pptrain
