#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "options.hpp"

namespace pptrain {

/// Gives nodes the prices of `--price`, and refuses (`Error`, exit code 2) one for what the cluster
/// does not have.
void set_prices(const std::vector<std::string>& prices, Cluster& cluster);

/// The cluster that a planning job names, with the numbers of nodes, the prices and the time
/// between failures of the command line.
Cluster asked_cluster(const Options& options, const Config& config);

}  // namespace pptrain
