#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// Whether two names are of one host: equal but for upper and lower case, or one is the other
/// without its domain.
bool is_same_host(const std::string& a, const std::string& b);

/// The rank that drives each device of a cluster that a file describes.
struct RanksOfDevices {
  std::vector<RankId> rank_of_device;
  /// What had to be taken for granted, "node 1 (a100) for n1", of nodes that the file gives no host
  /// name; empty where that says nothing, since there is one node for one host.
  std::vector<std::string> taken;
};

/// Ranks drive devices of the nodes that have their host's name, in the order of the ranks, those
/// that share memory one after another; the ranks that are left those of the nodes without a name.
/// `ranks`: as many as there are devices. A host that the file does not name, and one with more or
/// fewer ranks than devices, throw `Error` (exit code 2) with `file` as the place.
RanksOfDevices match_hosts(const Cluster& cluster, const std::vector<RankHost>& ranks,
                           const std::string& file);

/// A warning that says `RanksOfDevices::taken`.
std::string describe_taken(const std::vector<std::string>& taken, const std::string& file);

}  // namespace pptrain
