#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/names.hpp"
#include "cluster/cluster.hpp"
#include "cluster/device_catalogue.hpp"
#include "cluster/node_prices.hpp"

namespace pptrain {
namespace {

constexpr double most_devices = 1e7;  ///< ids are ints and plans list every device

using Locate = std::function<std::string(const std::string& path)>;

bool negative_or_not_finite(double value) { return !(value >= 0.0) || std::isinf(value); }

void check_link(const Locate& locate, const std::string& path, const Link& link) {
  if (negative_or_not_finite(link.bandwidth)) {
    throw_bad_input({locate(path + ".bandwidth"), "the bandwidth must be positive", "",
                     "for instance \"10 Gbit/s\""});
  }
  if (negative_or_not_finite(link.latency)) {
    throw_bad_input({locate(path + ".latency"), "the latency must not be negative", "",
                     "for instance \"5 us\""});
  }
}

std::set<std::string> check_kinds(const Locate& locate, const std::vector<DeviceKind>& kinds) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string path = fmt::format("device[{}]", i);
    if (kinds[i].name.empty())
      throw_bad_input(
          {locate(path + ".kind"), "a device kind needs a name", "", "add kind = \"...\""});
    if (!names.insert(kinds[i].name).second) {
      throw_bad_input({locate(path + ".kind"),
                       fmt::format("the device kind \"{}\" is described twice", kinds[i].name), "",
                       "remove one of the two"});
    }
    if (const double reserve = kinds[i].reserve.value_or(0.0); negative_or_not_finite(reserve)) {
      throw_bad_input({locate(path + ".reserve"),
                       fmt::format("the reserve of \"{}\" must not be negative", kinds[i].name), "",
                       "for instance \"1.5 GiB\""});
    }
    if (!(kinds[i].memory > 0.0) || std::isinf(kinds[i].memory)) {
      throw_bad_input({locate(path + ".memory"),
                       fmt::format("the memory of \"{}\" must be positive", kinds[i].name), "",
                       "for instance \"16 GiB\""});
    }
  }
  return names;
}

/// Kinds that the file describes, then those of the catalogue, which need no description.
std::vector<std::string> known_kinds(const std::set<std::string>& described) {
  std::vector<std::string> all(described.begin(), described.end());
  const std::vector<std::string> catalogue = catalogue_device_names();
  all.insert(all.end(), catalogue.begin(), catalogue.end());
  return all;
}

/// What to write for a kind of device that is neither described nor in the catalogue.
std::string meant_kind(const std::string& kind, const std::set<std::string>& described) {
  const std::vector<std::string> known = known_kinds(described);
  const std::vector<std::string> with = names_with(kind, known);
  if (with.empty()) return did_you_mean(kind, known, "add a [[device]] for it");
  return fmt::format("did you mean \"{}\"?", join(with, "\" or \""));
}

void check_group(const Locate& locate, const std::string& path, const NodeGroup& group,
                 const std::set<std::string>& kinds, bool alone) {
  if (group.count < 1)
    throw_bad_input({locate(path + ".count"), "count must be at least 1", "",
                     "remove nodes that are not there"});
  if (group.num_devices < 1)
    throw_bad_input({locate(path + ".devices.count"), "count must be at least 1", "",
                     "remove nodes without devices"});
  if (group.cores < 0)
    throw_bad_input({locate(path + ".cores"), "cores must not be negative", "",
                     "leave cores out where each device has its own"});
  if (!kinds.contains(group.device_kind)) {
    const std::vector<std::string> known(kinds.begin(), kinds.end());
    throw_bad_input({locate(path + ".devices.kind"),
                     fmt::format("unknown device kind \"{}\"", group.device_kind),
                     known.empty() ? "no [[device]] is described" : "described are " + join(known),
                     meant_kind(group.device_kind, kinds)});
  }
  check_link(locate, path + ".link", group.link);
  check_link(locate, path + ".uplink", group.uplink);
  check_link(locate, path + ".host_link", group.host_link);
  if (group.num_devices > 1 && group.link.bandwidth == 0.0) {
    throw_bad_input({locate(path), "the node has no link",
                     fmt::format("its {} devices need one", group.num_devices),
                     "add link = { bandwidth = \"...\" }"});
  }
  if (!alone && group.uplink.bandwidth == 0.0) {
    throw_bad_input({locate(path), "the node has no uplink",
                     "it is not the only node of the cluster",
                     "add uplink = { bandwidth = \"...\" }"});
  }
  if (!group.hosts.empty() && static_cast<int>(group.hosts.size()) != group.count) {
    throw_bad_input({locate(path + ".hosts"),
                     fmt::format("{} host names for {} nodes", group.hosts.size(), group.count), "",
                     "name each node or none"});
  }
}

/// Nodes of a pool share the same cores, so that all say how many these are.
void check_pools(const Locate& locate, const std::vector<NodeGroup>& groups) {
  std::map<std::string, int> cores;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const NodeGroup& group = groups[i];
    if (group.core_pool.empty()) continue;
    const std::string path = fmt::format("node[{}]", i);
    if (group.cores == 0) {
      throw_bad_input({locate(path + ".core_pool"),
                       fmt::format("the core_pool \"{}\" has no number of cores", group.core_pool),
                       "its nodes share them", "add cores = ... to the node"});
    }
    const int first = cores.try_emplace(group.core_pool, group.cores).first->second;
    if (first == group.cores) continue;
    throw_bad_input({locate(path + ".cores"),
                     fmt::format("{} cores of the core_pool \"{}\"", group.cores, group.core_pool),
                     fmt::format("another node of it has {}", first),
                     "give all nodes of a pool the same number"});
  }
}

void check_switches(const Locate& locate, const std::vector<Switch>& switches) {
  std::map<std::string, std::string> parents;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const std::string path = fmt::format("switch[{}]", i);
    if (switches[i].name.empty())
      throw_bad_input({locate(path + ".name"), "a switch needs a name", "", "add name = \"...\""});
    if (!parents.insert({switches[i].name, switches[i].parent}).second) {
      throw_bad_input({locate(path + ".name"),
                       fmt::format("the switch \"{}\" is described twice", switches[i].name), "",
                       "remove one of the two"});
    }
    check_link(locate, path + ".uplink", switches[i].uplink);
  }
  for (std::size_t i = 0; i < switches.size(); ++i) {
    std::size_t steps = 0;
    for (auto s = parents.find(switches[i].name); s != parents.end(); s = parents.find(s->second)) {
      if (++steps <= switches.size()) continue;
      throw_bad_input({locate(fmt::format("switch[{}].switch", i)),
                       fmt::format("the switch \"{}\" hangs below itself", switches[i].name),
                       "switches form a tree", "remove switch = \"...\" from the one at the top"});
    }
  }
}

/// Prices have a currency, and what leaves a switch has a way that it leaves by.
void check_prices(const Locate& locate, const Cluster& cluster) {
  const auto refuse = [&](const std::string& path, const char* price) {
    throw_bad_input({locate(path), fmt::format("{} has no currency", price),
                     "an amount of money says nothing without one",
                     "add currency = \"USD\" at the top of the file"});
  };
  const std::string& currency = cluster.currency;
  if (!currency.empty() && !is_currency(currency)) {
    throw_bad_input({locate("currency"), fmt::format("\"{}\" is no currency", currency),
                     "a currency is three capital letters",
                     "write for instance currency = \"USD\""});
  }
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    if (cluster.groups[i].price && currency.empty())
      refuse(fmt::format("node[{}].price", i), "the price");
  }
  for (std::size_t i = 0; i < cluster.switches.size(); ++i) {
    const std::string path = fmt::format("switch[{}].egress", i);
    if (cluster.switches[i].egress == 0.0) continue;
    if (currency.empty()) refuse(path, "the price of what leaves");
    if (cluster.switches[i].uplink.bandwidth == 0.0) {
      throw_bad_input(
          {locate(path),
           fmt::format("the switch \"{}\" has a price and no uplink", cluster.switches[i].name),
           "what leaves it is what its uplink carries", "add uplink = { bandwidth = \"...\" }"});
    }
  }
}

}  // namespace

void Cluster::check(const Locate& locate) const {
  if (groups.empty())
    throw_bad_input({locate(""), "the cluster has no nodes", "", "add a [[node]]"});
  const std::set<std::string> kinds = check_kinds(locate, device_kinds);
  const bool alone = groups.size() == 1 && groups.front().count == 1;
  double devices = 0.0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string path = fmt::format("node[{}]", i);
    check_group(locate, path, groups[i], kinds, alone);
    devices += static_cast<double>(groups[i].count) * groups[i].num_devices;
    if (devices > most_devices) {
      throw_bad_input({locate(path),
                       fmt::format("the cluster has more than {:.0f} devices", most_devices), "",
                       "describe fewer nodes, or fewer devices on each"});
    }
  }
  check_pools(locate, groups);
  check_switches(locate, switches);
  check_prices(locate, *this);
}

}  // namespace pptrain
