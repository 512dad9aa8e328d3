#include "asked_cluster.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "cluster/expression.hpp"
#include "cluster/node_prices.hpp"
#include "cluster/read.hpp"

namespace pptrain {
namespace {

/// "2x dgx-h100, 1x t4": the nodes of a cluster as they are written on the command line.
std::string nodes_text(const Cluster& cluster) {
  std::vector<std::string> parts;
  for (const NodeGroup& group : cluster.groups)
    parts.push_back(fmt::format("{}x {}", group.count, group.kind));
  return join(parts);
}

}  // namespace

void set_prices(const std::vector<std::string>& prices, Cluster& cluster) {
  for (const std::string& text : prices) {
    const NodePrice price = parse_node_price(text);
    if (!set_node_price(cluster, price))
      refuse_unknown_kind("--price " + text, price.name, priced_kinds(cluster));
  }
}

Cluster asked_cluster(const Options& options, const Config& config) {
  Cluster cluster = read_cluster(config.cluster.file);
  for (const auto& [kind, count] : options.node_counts) {
    for (NodeGroup& group : cluster.groups) {
      if (group.kind == kind) group.count = count;
    }
  }
  std::erase_if(cluster.groups, [](const NodeGroup& group) { return group.count == 0; });
  if (!options.node_counts.empty()) {
    for (NodeGroup& group : cluster.groups) {
      if (group.hosts.size() != static_cast<std::size_t>(group.count)) group.hosts.clear();
    }
    if (!means_cluster_file(config.cluster.file)) cluster.name = nodes_text(cluster);
    cluster.finish(config.cluster.file);
  }
  set_prices(options.prices, cluster);
  if (options.mtbf) {
    for (NodeGroup& group : cluster.groups) group.mtbf = *options.mtbf;
  }
  return cluster;
}

}  // namespace pptrain
