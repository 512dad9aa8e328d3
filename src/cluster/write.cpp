#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/text_table.hpp"
#include "base/units.hpp"
#include "cluster/device_catalogue.hpp"
#include "cluster/read.hpp"
#include "config/toml_reader.hpp"

namespace pptrain {
namespace {

/// The value in the first unit in which six digits give it exactly, else the bare number.
std::string quantity_toml(double value, Quantity quantity,
                          std::initializer_list<std::string_view> units) {
  for (const std::string_view unit : units) {
    const double scale = parse_quantity(fmt::format("1 {}", unit), quantity).value_or(1.0);
    const std::string text = fmt::format("{:.6g} {}", value / scale, unit);
    if (value >= scale && parse_quantity(text, quantity) == value) return quote_toml(text);
  }
  return fmt::format("{}", value);
}

std::string seconds_toml(double seconds) {
  return quantity_toml(seconds, Quantity::seconds, {"s", "ms", "us", "ns"});
}

std::string link_toml(const Link& link) {
  const std::string bandwidth =
      quantity_toml(link.bandwidth, Quantity::bandwidth, {"Gbit/s", "GB/s", "MB/s"});
  return fmt::format("{{ bandwidth = {}, latency = {} }}", bandwidth, seconds_toml(link.latency));
}

std::string device_toml(const DeviceKind& kind) {
  std::string text = fmt::format("\n[[device]]\nkind = {}\n", quote_toml(kind.name));
  const std::initializer_list<std::string_view> units = {"GiB", "GB", "MiB", "MB", "KiB"};
  text += fmt::format("memory = {}\n", quantity_toml(kind.whole_memory(), Quantity::bytes, units));
  if (kind.reserve)
    text += fmt::format("reserve = {}\n", quantity_toml(*kind.reserve, Quantity::bytes, units));
  std::string rates;
  for (const auto& [precision, rate] : kind.flops) {
    const std::string value = quantity_toml(rate, Quantity::flop_rate, {"TFLOP/s", "GFLOP/s"});
    rates += fmt::format("{}{} = {}", rates.empty() ? "" : ", ", precision, value);
  }
  // An empty table says that no rates are known; without a table a kind of the catalogue would have
  // the catalogue's.
  const bool says_none = rates.empty() && catalogue_device(kind.name) != nullptr;
  if (!rates.empty() || says_none) text += fmt::format("flops = {{ {} }}\n", rates);
  if (kind.memory_bandwidth > 0.0) {
    text +=
        fmt::format("memory_bandwidth = {}\n",
                    quantity_toml(kind.memory_bandwidth, Quantity::bandwidth, {"GB/s", "MB/s"}));
  }
  return text;
}

std::string node_toml(const NodeGroup& group) {
  std::string text =
      fmt::format("\n[[node]]\nkind = {}\ncount = {}\n", quote_toml(group.kind), group.count);
  text += fmt::format("devices = {{ kind = {}, count = {} }}\n", quote_toml(group.device_kind),
                      group.num_devices);
  if (group.link.bandwidth > 0.0) text += fmt::format("link = {}\n", link_toml(group.link));
  if (group.uplink.bandwidth > 0.0) text += fmt::format("uplink = {}\n", link_toml(group.uplink));
  if (group.host_link.bandwidth > 0.0)
    text += fmt::format("host_link = {}\n", link_toml(group.host_link));
  if (!group.switch_name.empty())
    text += fmt::format("switch = {}\n", quote_toml(group.switch_name));
  if (group.cores > 0) {
    text += fmt::format("cores = {}  # shared by the devices of {}\n", group.cores,
                        group.core_pool.empty() ? "a node" : "all nodes of the pool");
  }
  if (const CoreSeconds& of = group.core_seconds; of.message > 0.0 || of.wait > 0.0) {
    text += fmt::format("core_seconds = {{ message = {}, wait = {} }}\n", seconds_toml(of.message),
                        seconds_toml(of.wait));
  }
  if (!group.core_pool.empty())
    text += fmt::format("core_pool = {}\n", quote_toml(group.core_pool));
  if (!group.hosts.empty()) {
    std::string names;
    for (const std::string& host : group.hosts)
      names += (names.empty() ? "" : ", ") + quote_toml(host);
    text += fmt::format("hosts = [{}]\n", names);
  }
  if (group.price) text += fmt::format("price = {}  # an hour\n", *group.price);
  if (group.power > 0.0)
    text += fmt::format("power = {}\n", quantity_toml(group.power, Quantity::power, {"kW", "W"}));
  if (group.mtbf > 0.0)
    text += fmt::format("mtbf = {}\n", quantity_toml(group.mtbf, Quantity::seconds, {"h", "s"}));
  return text;
}

std::string switch_toml(const Switch& s) {
  std::string text = fmt::format("\n[[switch]]\nname = {}\n", quote_toml(s.name));
  if (s.uplink.bandwidth > 0.0) text += fmt::format("uplink = {}\n", link_toml(s.uplink));
  if (!s.parent.empty()) text += fmt::format("switch = {}\n", quote_toml(s.parent));
  if (s.egress > 0.0) text += fmt::format("egress = {}  # a GB\n", s.egress);
  return text;
}

/// "80 GiB", or "80 GiB, 1.5 GiB of it reserved".
std::string memory_text(const DeviceKind& kind) {
  const std::string whole = format_bytes(kind.whole_memory());
  return kind.reserve.value_or(0.0) > 0.0
             ? fmt::format("{}, {} of it reserved", whole, format_bytes(*kind.reserve))
             : whole;
}

std::string cores_text(const NodeGroup& group) {
  if (group.cores == 0) return "own";
  return fmt::format("{} shared{}{}", group.cores, group.core_pool.empty() ? "" : " in ",
                     group.core_pool);
}

/// Without the columns in which no group of nodes has anything, or all devices have their own.
Rows without_empty_columns(Rows rows) {
  for (std::size_t c = rows.front().size(); c-- > 0;) {
    const bool is_empty = std::all_of(rows.begin() + 1, rows.end(), [c](const auto& row) {
      return row[c] == "-" || row[c] == "own";
    });
    if (!is_empty) continue;
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return rows;
}

std::string link_text(const Link& link) {
  if (link.bandwidth == 0.0) return "-";
  return fmt::format("{}, {}", format_bandwidth(link.bandwidth), format_seconds(link.latency));
}

}  // namespace

std::string write_cluster(const Cluster& cluster) {
  constexpr std::string_view emulate_names[] = {"no", "numbers", "timing"};
  std::string text = fmt::format("name = {}\nemulate = \"{}\"\n", quote_toml(cluster.name),
                                 emulate_names[static_cast<int>(cluster.emulate)]);
  if (!cluster.currency.empty())
    text += fmt::format("currency = {}\n", quote_toml(cluster.currency));
  if (cluster.storage_bandwidth > 0.0) {
    text += fmt::format(
        "storage_bandwidth = {}\n",
        quantity_toml(cluster.storage_bandwidth, Quantity::bandwidth, {"GB/s", "MB/s"}));
  }
  for (const DeviceKind& kind : cluster.device_kinds) text += device_toml(kind);
  for (const NodeGroup& group : cluster.groups) text += node_toml(group);
  for (const Switch& s : cluster.switches) text += switch_toml(s);
  return text;
}

std::string describe_cluster(const Cluster& cluster) {
  Rows rows = {
      {"nodes", "kind", "devices", "memory", "cores", "link", "uplink", "price", "switch"}};
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    const NodeGroup& group = cluster.groups[i];
    const auto kind =
        std::find_if(cluster.device_kinds.begin(), cluster.device_kinds.end(),
                     [&group](const DeviceKind& k) { return k.name == group.device_kind; });
    rows.push_back({fmt::format("{} x", group.count), group.kind,
                    fmt::format("{} x {}", group.num_devices, group.device_kind),
                    memory_text(*kind), cores_text(group), link_text(group.link),
                    link_text(group.uplink),
                    group.price ? format_money(*group.price, cluster.currency) + "/h" : "-",
                    group.switch_name.empty() ? "-" : group.switch_name});
  }
  const auto counted = [](int number, const char* thing) {
    return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
  };
  return fmt::format("cluster {}: {} on {}\n", cluster.name,
                     counted(cluster.num_devices(), "device"),
                     counted(cluster.num_nodes(), "node")) +
         align(without_empty_columns(std::move(rows)));
}

}  // namespace pptrain
