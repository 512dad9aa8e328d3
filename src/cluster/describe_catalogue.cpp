#include <fmt/format.h>

#include "base/text_table.hpp"
#include "base/units.hpp"
#include "cluster/device_catalogue.hpp"
#include "cluster/expression.hpp"
#include "cluster/node_catalogue.hpp"

namespace pptrain {
namespace {

std::string number(double value, double unit) {
  return value > 0.0 ? fmt::format("{:.4g}", value / unit) : "-";
}

std::string rate(const DeviceKind& kind, const std::string& precision) {
  const auto found = kind.flops.find(precision);
  return found == kind.flops.end() ? "-" : number(found->second, 1e12);
}

/// Rates of bf16 and fp16, which are equal where a device has both.
std::string rate_of_16_bits(const DeviceKind& kind) {
  return kind.flops.contains("bf16") ? rate(kind, "bf16") : rate(kind, "fp16") + " fp16";
}

std::string device_table() {
  Rows rows = {{"kind", "GB", "TB/s", "fp32", "16 bits", "fp8", "link", "W"}};
  for (const CatalogueDevice& device : device_catalogue()) {
    rows.push_back(
        {device.name, number(device.kind.memory, 1e9), number(device.kind.memory_bandwidth, 1e12),
         rate(device.kind, "fp32"), rate_of_16_bits(device.kind), rate(device.kind, "fp8"),
         fmt::format("{}, {} GB/s", device.link_name, number(device.link.bandwidth, 1e9)),
         number(device.watts, 1.0)});
  }
  return align(std::move(rows));
}

std::string device_details() {
  Rows rows = {{"kind", "tf32", "host link", "source"}};
  for (const CatalogueDevice& device : device_catalogue()) {
    rows.push_back({device.name, rate(device.kind, "tf32"),
                    fmt::format("{} GB/s", number(device.host_link.bandwidth, 1e9)),
                    device.source});
  }
  return align(std::move(rows));
}

std::string node_table(bool details) {
  Rows rows = {{"node", "devices", "uplink", details ? "source" : "of"}};
  for (const CatalogueNode& node : node_catalogue()) {
    rows.push_back({node.name, fmt::format("{} x {}", node.num_devices, node.device),
                    format_bandwidth(node.uplink.bandwidth), details ? node.source : node.network});
  }
  return align(std::move(rows));
}

}  // namespace

std::string describe_catalogue(bool details) {
  std::string text =
      "Devices: memory, its bandwidth, dense TFLOP/s, link of two in a node one way\n\n" +
      device_table();
  if (details) text += "\n" + device_details();
  text += "\nNodes: the uplink is all network cards together, one way\n\n" + node_table(false);
  if (details) text += "\n" + node_table(true);
  return text +
         "\nUse them as --cluster \"2x dgx-h100, 1x 4x l40s @ 100Gb/s\", or as the kind of a\n"
         "[[device]] in a cluster file, which then needs no memory and no rates.\n" +
         (details ? "" : "-v: where the figures are from, rates for TF32, links to hosts\n");
}

}  // namespace pptrain
