#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// How many of the devices that are used share the cores of each node, or those of its pool.
std::vector<int> used_core_sharers(const Cluster& cluster, const std::vector<bool>& used);

/// FLOP per second that each of the devices that are used can reach in this precision ("bf16"),
/// beside the others that share its cores; 0 where that is not known, and of devices that are not
/// used.
std::vector<double> peak_flop_rates(const Cluster& cluster, const std::vector<bool>& used,
                                    const std::string& precision);

/// FLOP per second that all devices that are used can reach together; 0 where that is not known of
/// all of them.
double peak_flop_rate(const Cluster& cluster, const std::vector<bool>& used,
                      const std::string& precision);

}  // namespace pptrain
