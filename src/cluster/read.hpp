#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Reads a CLUSTER.toml; bad input throws `Error` (exit code 2) with file, line and suggestion.
Cluster read_cluster(const std::string& path);
Cluster parse_cluster(std::string_view text, const std::string& source);

/// The cluster as CLUSTER.toml; reading it gives the same cluster.
std::string write_cluster(const Cluster& cluster);

/// A table for people: nodes, devices, memory, links.
std::string describe_cluster(const Cluster& cluster);

}  // namespace pptrain
