#include "catalogue_page.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "cluster/device_catalogue.hpp"
#include "cluster/node_catalogue.hpp"
#include "tables.hpp"

namespace pptrain {
namespace {

std::string number(double value, double unit) { return fmt::format("{:.5g}", value / unit); }

std::string rate(const DeviceKind& kind, const std::string& precision) {
  const auto found = kind.flops.find(precision);
  return found == kind.flops.end() ? "" : number(found->second, 1e12);
}

std::string other_names(const std::vector<std::string>& aliases) {
  return aliases.empty() ? "" : fmt::format(" (`{}`)", join(aliases, "`, `"));
}

std::string device_rows() {
  std::string text;
  for (const CatalogueDevice& device : device_catalogue()) {
    text += fmt::format("| `{}`{} | {} | {} |", device.name, other_names(device.aliases),
                        number(device.kind.memory, 1e9), number(device.kind.memory_bandwidth, 1e9));
    for (const char* precision : {"fp32", "tf32", "bf16", "fp16", "fp8"})
      text += fmt::format(" {} |", rate(device.kind, precision));
    text += fmt::format(" {}, {} | {} | {} | {} |\n", device.link_name,
                        number(device.link.bandwidth, 1e9), number(device.host_link.bandwidth, 1e9),
                        number(device.watts, 1.0), device.source);
  }
  return text;
}

std::string node_rows() {
  std::string text;
  for (const CatalogueNode& node : node_catalogue()) {
    text += fmt::format("| `{}`{} | {} x `{}` | {} | {} | {} |\n", node.name,
                        other_names(node.aliases), node.num_devices, node.device,
                        number(node.uplink.bandwidth, 1e9), node.network, node.source);
  }
  return text;
}

}  // namespace

std::string catalogue_page() {
  return page_head("The catalogue",
                   "Kinds of device and of node that are known by name: as `kind` of a "
                   "`[[device]]`, and in `--cluster "
                   "\"2x dgx-h100, 1x 4x l40s\"`\n([what the figures "
                   "mean](../planning.md#without-files)). Case does "
                   "not count, nor `_` for `-`, nor a maker's name in front, so that the\nnames of "
                   "`nvidia-smi` count "
                   "too.") +
         "\n## Devices\n\nMemory in GB and its bandwidth in GB/s; dense rates in TFLOP/s, of "
         "matrix units but for "
         "fp32, "
         "summed in fp32; links in GB/s, one way,\nbetween two devices of a node and to the host; "
         "the most power in "
         "W. Where a sheet quotes rates with sparsity alone, half of\nthem are here.\n\n"
         "| kind | memory | bandwidth | fp32 | tf32 | bf16 | fp16 | fp8 | link | host | power | "
         "source |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|\n" +
         device_rows() +
         "\n## Nodes\n\nThe uplink is what all network cards that carry messages between devices "
         "carry together, in "
         "GB/s, one way.\n\n"
         "| node | devices | uplink | network | source |\n|---|---|---|---|---|\n" +
         node_rows();
}

}  // namespace pptrain
