#include "cluster/node_catalogue.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cluster/device_catalogue.hpp"

namespace pptrain {
namespace {

constexpr double gbit = 1.25e8;  // bytes per second
// Latency through a switch: the order of what is measured, for RDMA and for the clouds' own
// networks. No source says it.
constexpr double rdma_latency = 5 * 1e-6;
constexpr double cloud_latency = 15 * 1e-6;

const std::vector<CatalogueNode>& rows() {
  static const std::vector<CatalogueNode> all = {
#include "cluster/node_rows.inc"
  };
  return all;
}

}  // namespace

const std::vector<CatalogueNode>& node_catalogue() { return rows(); }

const CatalogueNode* catalogue_node(const std::string& name) {
  const std::string plain = plain_name(name);
  for (const CatalogueNode& node : node_catalogue()) {
    const bool is_alias =
        std::find(node.aliases.begin(), node.aliases.end(), plain) != node.aliases.end();
    if (plain_name(node.name) == plain || is_alias) return &node;
  }
  return nullptr;
}

std::vector<std::string> catalogue_node_names() {
  std::vector<std::string> names;
  for (const CatalogueNode& node : node_catalogue()) names.push_back(node.name);
  return names;
}

NodeGroup node_group(const CatalogueNode& node, int count) {
  const CatalogueDevice* device = catalogue_device(node.device);
  PPTRAIN_ASSERT(device != nullptr, "{} has devices {}, which the catalogue lacks", node.name,
                 node.device);
  NodeGroup group;
  group.kind = node.name;
  group.count = count;
  group.device_kind = device->name;
  group.num_devices = node.num_devices;
  group.link = device->link;
  group.uplink = node.uplink;
  group.host_link = device->host_link;
  return group;
}

}  // namespace pptrain
