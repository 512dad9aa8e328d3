#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Refuses what cannot become a file, before long work is done for it; "", which is standard
/// output, is fine. Throws `Error` (exit code 2).
void check_delivery(const std::string& path);

/// Prints to standard output, or writes to a file beside and renames it into place. What cannot be
/// written throws `Error`.
void deliver(const std::string& text, const std::string& path);

/// The cluster as one JSON document: device kinds, nodes, links, switches.
std::string cluster_json(const Cluster& cluster);

}  // namespace pptrain
