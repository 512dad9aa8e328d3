#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Reads a CLUSTER.toml or, where `name` is no file, the cluster that this text says
/// (`parse_cluster_expression`). Of a kind of device that the catalogue knows a file may leave out
/// what the catalogue says. Bad input throws `Error` (exit code 2) with file, line and suggestion.
Cluster read_cluster(const std::string& name);
Cluster parse_cluster(std::string_view text, const std::string& source);

/// The cluster as CLUSTER.toml; reading it gives the same cluster.
std::string write_cluster(const Cluster& cluster);

/// A table for people: nodes, devices, memory, links.
std::string describe_cluster(const Cluster& cluster);

}  // namespace pptrain
