#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "probe/probed_nodes.hpp"

namespace pptrain {

/// The cluster that these nodes are, measured as they are; not yet finished. A host that is several
/// nodes is a switch, whose uplink is the host's. `host_uplinks`: of each host, as `host_starts`
/// counts them.
Cluster found_cluster(const std::vector<ProbedNode>& nodes, const std::vector<CorePool>& pools,
                      const std::vector<Link>& host_uplinks);

/// Lower-case words of the name of a processor joined by dashes: "amd-epyc-7763", "nvidia-h200".
std::string device_kind_name(const std::string& model);

}  // namespace pptrain
