#pragma once

#include "cluster/cluster.hpp"

namespace pptrain {

/// Ends the fuzzer unless the cluster, which was accepted, has usable links, sizes that costs can
/// be made of and a description.
void check_cluster(const Cluster& cluster);

}  // namespace pptrain
