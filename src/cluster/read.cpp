#include "cluster/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "cluster/device_catalogue.hpp"
#include "cluster/expression.hpp"
#include "cluster/keys.hpp"
#include "cluster/node_catalogue.hpp"
#include "cluster/reserve.hpp"
#include "config/toml_reader.hpp"

namespace pptrain {
namespace {

/// More than any device has: bytes fit a whole number of 64 bits, and no sum or quotient of costs
/// leaves what a double holds.
double most_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::flop_rate: return 1e24;
    case Quantity::seconds: return 1e9;
    case Quantity::power: return 1e9;
    default: return 1e18;
  }
}

constexpr double least_quantity = 1e-18;

/// A quantity that has to be positive where it is given.
double positive(const TomlTable& table, const std::string& key, Quantity quantity,
                std::optional<double> fallback = {}) {
  const double value = table.quantity(key, quantity, fallback);
  if (!table.has(key)) return value;
  const std::string units =
      fmt::format("a positive number and one of {}", accepted_units(quantity));
  if (!(value > 0.0)) {
    table.refuse(key, fmt::format("{} must be positive", table.full_name(key)),
                 fmt::format("it is {}", value), "write " + units);
  }
  if (value < least_quantity || value > most_of(quantity)) {
    table.refuse(key,
                 fmt::format("{} is too {}", table.full_name(key),
                             value < least_quantity ? "small" : "large"),
                 fmt::format("it is {:.3g}, and from {:g} to {:g} are possible", value,
                             least_quantity, most_of(quantity)),
                 "correct the number or its unit: write " + units);
  }
  return value;
}

int count_at_least(const TomlTable& table, const std::string& key, int minimum, int fallback) {
  const std::int64_t value = table.integer(key, fallback);
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (value < minimum || value > most) {
    table.refuse(
        key,
        fmt::format("{} must be {} {}", table.full_name(key),
                    value < minimum ? "at least" : "at most", value < minimum ? minimum : most),
        fmt::format("it is {}", value), "correct it, or remove this part of the cluster");
  }
  return static_cast<int>(value);
}

/// A time that is 0 where it is not given.
double seconds_at_least_zero(const TomlTable& table, const std::string& key) {
  const double seconds = table.quantity(key, Quantity::seconds, 0.0);
  if (seconds < 0.0) {
    table.refuse(key, fmt::format("{} must not be negative", table.full_name(key)),
                 fmt::format("it is {} s", seconds), "leave it out where it is unknown");
  }
  if (seconds > most_of(Quantity::seconds)) {
    table.refuse(key, fmt::format("{} is too large", table.full_name(key)),
                 fmt::format("it is {:.3g} s, and up to {:g} s are possible", seconds,
                             most_of(Quantity::seconds)),
                 "correct the number or its unit");
  }
  return seconds;
}

/// An amount of money that is at least 0; nothing where it is not given.
std::optional<double> money(const TomlTable& table, const std::string& key) {
  constexpr double most_money = 1e12;
  const double amount = table.number(key, 0.0);
  if (!table.has(key)) return std::nullopt;
  if (amount < 0.0 || amount > most_money) {
    table.refuse(key,
                 fmt::format("{} must be between 0 and {:g}", table.full_name(key), most_money),
                 fmt::format("it is {:g}", amount), "write an amount of money, for instance 98.32");
  }
  return amount;
}

Link read_link(const TomlTable& parent, const std::string& key, const Link& fallback = {}) {
  const std::optional<TomlTable> table = parent.table(key);
  if (!table) return fallback;
  Link link;
  link.bandwidth = positive(*table, "bandwidth", Quantity::bandwidth);
  link.latency = seconds_at_least_zero(*table, "latency");
  table->finish(cluster_keys::link);
  return link;
}

CoreSeconds read_core_seconds(const TomlTable& parent) {
  const std::optional<TomlTable> table = parent.table("core_seconds");
  if (!table) return {};
  const CoreSeconds result = {seconds_at_least_zero(*table, "message"),
                              seconds_at_least_zero(*table, "wait")};
  table->finish(cluster_keys::core_seconds);
  return result;
}

/// What the file says of a kind's reserve; nothing where it says nothing.
void read_reserve(const TomlTable& table, DeviceKind& kind) {
  const double reserve = table.quantity("reserve", Quantity::bytes, 0.0);
  if (!table.has("reserve")) return;
  if (reserve < 0.0) {
    table.refuse("reserve", fmt::format("{} must not be negative", table.full_name("reserve")),
                 fmt::format("it is {}", reserve), "write 0 where plans may use all of the memory");
  }
  if (reserve >= kind.memory) {
    table.refuse("reserve", fmt::format("{} leaves no memory to plans", table.full_name("reserve")),
                 fmt::format("it is {} of the {} of \"{}\"", format_bytes(reserve),
                             format_bytes(kind.memory), kind.name),
                 "write less than memory: what drivers and libraries take of the device, for "
                 "instance \"1.5 GiB\"");
  }
  set_reserve(kind, reserve);
}

/// Refuses a kind without memory whose name is nearly that of one in the catalogue, which would say
/// it.
void refuse_misspelt_kind(const TomlTable& table, const std::string& kind) {
  const std::vector<std::string> near = similar_names(kind, catalogue_device_names());
  if (near.empty()) return;
  table.refuse("kind", fmt::format("{} is missing", table.full_name("memory")),
               fmt::format("\"{}\" is no kind whose memory is known", kind),
               fmt::format("add memory = \"... GiB\"; or did you mean kind = \"{}\"?",
                           join(near, "\" or \"")));
}

/// A kind of device: what the file leaves out is the catalogue's where it knows the name. A table
/// of rates is whole: precisions that it leaves out are not known.
DeviceKind read_device(const TomlTable& table) {
  DeviceKind kind;
  const std::string name = table.string("kind");
  if (const CatalogueDevice* known = catalogue_device(name)) kind = known->kind;
  kind.name = name;
  if (kind.memory == 0.0 && !table.has("memory")) refuse_misspelt_kind(table, name);
  kind.memory = positive(table, "memory", Quantity::bytes,
                         kind.memory > 0.0 ? std::optional(kind.memory) : std::nullopt);
  read_reserve(table, kind);
  kind.memory_bandwidth =
      positive(table, "memory_bandwidth", Quantity::bandwidth, kind.memory_bandwidth);
  if (const std::optional<TomlTable> flops = table.table("flops")) {
    kind.flops.clear();
    for (const std::string& precision : cluster_keys::flops.names()) {
      if (!flops->has(precision)) {
        flops->quantity(precision, Quantity::flop_rate, 0.0);  // known, though absent
        continue;
      }
      kind.flops[precision] = positive(*flops, precision, Quantity::flop_rate);
    }
    flops->finish(cluster_keys::flops);
  }
  table.finish(cluster_keys::device);
  return kind;
}

/// Refuses nodes without devices whose kind the catalogue does not know.
[[noreturn]] void refuse_missing_devices(const TomlTable& table, const std::string& kind) {
  const std::vector<std::string> known = cluster_keys::node.names();
  for (const std::string& key : table.keys()) {
    if (std::count(known.begin(), known.end(), key) > 0 || nearest_name(key, known) != "devices")
      continue;
    table.refuse(key, fmt::format("{} is not known", table.full_name(key)), "",
                 fmt::format("did you mean {}?", table.full_name("devices")));
  }
  const std::vector<std::string> near = similar_names(kind, catalogue_node_names());
  std::string suggestion = "add devices = { kind = \"...\", count = ... }";
  if (!near.empty())
    suggestion += fmt::format("; or did you mean kind = \"{}\"?", join(near, "\" or \""));
  table.refuse("devices", fmt::format("{} is missing", table.full_name("devices")),
               table.has("kind")
                   ? fmt::format("\"{}\" is no kind of node whose devices are known", kind)
                   : "only nodes of a known kind have a default",
               suggestion);
}

/// Nodes of this kind with their devices. Those of a table without devices are the catalogue's. The
/// catalogue says the links of these too, and of devices that it knows and the file does not
/// describe.
NodeGroup read_devices(const TomlTable& table, const std::string& kind,
                       const std::set<std::string>& described) {
  NodeGroup group;
  if (const std::optional<TomlTable> devices = table.table("devices")) {
    group.device_kind = devices->string("kind");
    group.num_devices = count_at_least(*devices, "count", 1, 1);
    devices->finish(cluster_keys::devices);
    const CatalogueDevice* known = catalogue_device(group.device_kind);
    if (known != nullptr && !described.contains(group.device_kind)) {
      if (group.num_devices > 1) group.link = known->link;
      group.host_link = known->host_link;
    }
  } else if (const CatalogueNode* known = catalogue_node(kind)) {
    group = node_group(*known, 1);
  } else {
    refuse_missing_devices(table, kind);
  }
  group.kind = kind;
  return group;
}

NodeGroup read_node(const TomlTable& table, const std::set<std::string>& described) {
  NodeGroup group = read_devices(table, table.string("kind", "node"), described);
  group.count = count_at_least(table, "count", 1, 1);
  group.link = read_link(table, "link", group.link);
  group.uplink = read_link(table, "uplink", group.uplink);
  group.host_link = read_link(table, "host_link", group.host_link);
  group.switch_name = table.string("switch", "");
  group.cores = count_at_least(table, "cores", 0, 0);
  group.core_seconds = read_core_seconds(table);
  group.core_pool = table.string("core_pool", "");
  group.hosts = table.strings("hosts");
  group.price = money(table, "price");
  group.power = positive(table, "power", Quantity::power, 0.0);
  group.mtbf = positive(table, "mtbf", Quantity::seconds, 0.0);
  table.finish(cluster_keys::node);
  return group;
}

Switch read_switch(const TomlTable& table) {
  Switch result;
  result.name = table.string("name");
  result.uplink = read_link(table, "uplink");
  result.parent = table.string("switch", "");
  result.egress = money(table, "egress").value_or(0.0);
  table.finish(cluster_keys::switches);
  return result;
}

/// The place of `node[1].devices.kind`: the line of the table that holds it, or of the key where
/// it stands in that table itself.
std::string locate(const TomlTable& root, const std::string& path) {
  const std::size_t open = path.find('[');
  if (open == std::string::npos) return root.where(path);
  const std::vector<TomlTable> tables = root.tables(path.substr(0, open));
  const TomlTable table = tables.at(std::stoul(path.substr(open + 1)));
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return table.where();
  const std::string key = path.substr(dot + 1, path.find('.', dot + 1) - dot - 1);
  const std::size_t last = path.rfind('.');
  const std::optional<TomlTable> inner = last == dot ? std::nullopt : table.table(key);
  return inner ? inner->where(path.substr(last + 1)) : table.where(key);
}

Emulate emulate_of(const std::string& name) {
  if (name == "numbers") return Emulate::numbers;
  return name == "timing" ? Emulate::timing : Emulate::no;
}

Cluster cluster_of(const TomlTable& root, const std::string& source) {
  for (const char* section : {"job", "model", "data", "training"}) {
    if (!root.has(section)) continue;
    throw_bad_input({source, "this is a job and no cluster", fmt::format("it has [{}]", section),
                     "name a CLUSTER.toml: examples are in inputs/clusters/, and `pptrain cluster "
                     "--format toml` "
                     "writes one for the machine that it runs on"});
  }
  Cluster cluster;
  cluster.name = root.string("name", "cluster");
  cluster.emulate = emulate_of(root.name("emulate", {"no", "numbers", "timing"}, "no"));
  cluster.currency = root.string("currency", "");
  cluster.storage_bandwidth = positive(root, "storage_bandwidth", Quantity::bandwidth, 0.0);
  std::set<std::string> described;
  for (const TomlTable& table : root.tables("device")) {
    cluster.device_kinds.push_back(read_device(table));
    described.insert(cluster.device_kinds.back().name);
  }
  for (const TomlTable& table : root.tables("node")) {
    cluster.groups.push_back(read_node(table, described));
    add_catalogue_kind(cluster, cluster.groups.back().device_kind);
  }
  for (const TomlTable& table : root.tables("switch"))
    cluster.switches.push_back(read_switch(table));
  root.finish(cluster_keys::root);
  cluster.finish(
      [&](const std::string& path) { return path.empty() ? source : locate(root, path); });
  return cluster;
}

}  // namespace

Cluster read_cluster(const std::string& name) {
  return means_cluster_file(name) ? cluster_of(read_toml(name), name)
                                  : parse_cluster_expression(name);
}

Cluster parse_cluster(std::string_view text, const std::string& source) {
  return cluster_of(parse_toml(text, source), source);
}

}  // namespace pptrain
