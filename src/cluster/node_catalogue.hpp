#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// A kind of node that can be bought or rented.
struct CatalogueNode {
  std::string name;                  ///< as its maker writes it: "dgx-h100", "p5.48xlarge"
  std::vector<std::string> aliases;  ///< other names of it
  std::string device;                ///< name in the catalogue of devices
  int num_devices = 8;
  Link uplink;          ///< to the network, one way: all cards that carry messages between devices,
                        ///< together
  std::string network;  ///< of which cards that is
  std::string source;   ///< document and year
};

/// All kinds of node that are known by name: servers, then instances of clouds.
const std::vector<CatalogueNode>& node_catalogue();

/// The node of that name, as `catalogue_device` compares them; null: none has it.
const CatalogueNode* catalogue_node(const std::string& name);

/// Names of all nodes of the catalogue.
std::vector<std::string> catalogue_node_names();

/// `count` nodes of a kind, with the links of their devices.
NodeGroup node_group(const CatalogueNode& node, int count);

}  // namespace pptrain
