#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Whether a text is a currency as ISO 4217 writes them: three capital letters.
bool is_currency(const std::string& text);

/// What one node of a group takes at full load, in watts: what the cluster says, else the power of
/// its devices where the catalogue knows them; 0: not known.
double node_watts(const NodeGroup& group);

/// Whether a name means this kind of node, by all names that the catalogue has for it.
bool means_node_kind(const std::string& name, const std::string& kind);

/// A price that the command line gives: "dgx-h100=98.32USD".
struct NodePrice {
  std::string text;     ///< as it was written
  std::string name;     ///< kind of node or, for the price of one device, of device
  double amount = 0.0;  ///< money for an hour
  std::string currency;
};

/// Reads NAME=AMOUNTCURRENCY; a space before the currency may stand. Throws `Error` (exit code 2)
/// where a part is missing or wrong, with what to write.
NodePrice parse_node_price(const std::string& text);

/// Gives the nodes of that kind, or whose devices are of that kind, this price, in place of what a
/// file says; false where the cluster has none. Throws `Error` (exit code 2) where the cluster's
/// other prices are in another currency.
bool set_node_price(Cluster& cluster, const NodePrice& price);

/// Refuses (`Error`, exit code 2) a name of the option `option` that is of no node and no device of
/// the clusters whose kinds are given, with those that are.
[[noreturn]] void refuse_unknown_kind(const std::string& option, const std::string& name,
                                      const std::vector<std::string>& kinds);

/// Names that a price may have on this cluster: kinds of its nodes and of their devices, each once.
std::vector<std::string> priced_kinds(const Cluster& cluster);

}  // namespace pptrain
