#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Prints to standard output, or writes to a file beside and renames it into place.
void deliver(const std::string& text, const std::string& path);

/// The cluster as one JSON document: device kinds, nodes, links, switches.
std::string cluster_json(const Cluster& cluster);

}  // namespace pptrain
