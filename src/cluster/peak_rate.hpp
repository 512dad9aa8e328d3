#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// FLOP per second that a device of the group can reach in this precision ("bf16"), its part of
/// cores that it shares; 0 where that is not known.
double peak_flop_rate(const Cluster& cluster, const NodeGroup& group, const std::string& precision);

/// FLOP per second that all devices of the cluster can reach; 0 where that is not known of all of
/// them.
double peak_flop_rate(const Cluster& cluster, const std::string& precision);

}  // namespace pptrain
