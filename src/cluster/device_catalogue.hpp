#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// A kind of device as its maker describes it.
struct CatalogueDevice {
  std::string name;                  ///< as cluster files write it: "h100-sxm-80gb"
  std::vector<std::string> aliases;  ///< other names of it, as `nvidia-smi` and makers have them
  DeviceKind kind;                   ///< memory, bandwidth and dense rates; without a reserve
  std::string link_name;             ///< what connects two devices of a node: "NVLink 4"
  Link link;                         ///< between two devices of a node, one way
  Link host_link;                    ///< to the memory of its host, one way
  double watts = 0.0;                ///< power that it takes at most
  std::string source;                ///< document and year
};

/// All kinds of device that are known by name, by maker and generation.
const std::vector<CatalogueDevice>& device_catalogue();

/// The device of that name; case, `_` for `-` and a maker's name in front ("NVIDIA", "Tesla", ...)
/// do not count. Null: none has it.
const CatalogueDevice* catalogue_device(const std::string& name);

/// Adds a kind of device under the name by which the catalogue knows it, if it does and the cluster
/// has none of that name.
void add_catalogue_kind(Cluster& cluster, const std::string& name);

/// A name as names of the catalogues are compared: in small letters, with `-` between words,
/// without a maker in front.
std::string plain_name(const std::string& name);

/// The `names` that have `name` as a part: "a100-sxm-40gb" and others for "a100".
std::vector<std::string> names_with(const std::string& name, const std::vector<std::string>& names);

/// What somebody may mean who writes `name`: the `names` that have it as a part, else the ones that
/// begin with the same word, else the one that is spelt nearly so. At most five; nothing where none
/// is near.
std::vector<std::string> similar_names(const std::string& name,
                                       const std::vector<std::string>& names);

/// Names of all devices of the catalogue.
std::vector<std::string> catalogue_device_names();

}  // namespace pptrain
