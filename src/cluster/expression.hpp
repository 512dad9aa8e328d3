#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Whether what names a cluster means a file: there is one, or it looks like a path of one
/// ("c.toml", "clusters/c").
bool means_cluster_file(const std::string& text);

/// The cluster that a line of text says, of parts with commas between: `[COUNT x] NODE` of the
/// catalogue of nodes, or
/// `[COUNT x] [COUNT x] DEVICE`, nodes of so many devices of the catalogue of devices; each with `
/// @ BANDWIDTH` behind where its network is another one: "2x dgx-h100, 4x dgx-a100-40, 1x 4x l40s @
/// 100Gb/s". The switch above limits nothing. Nodes of which nothing says the network get 100
/// Gbit/s, which is logged where there are others to reach. Bad text throws `Error` (exit code 2).
Cluster parse_cluster_expression(const std::string& text);

/// The catalogues of nodes and of devices as tables for people; with `details` the rates for TF32,
/// links to hosts, and where figures are from.
std::string describe_catalogue(bool details);

}  // namespace pptrain
