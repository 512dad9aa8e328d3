#include "cluster/device_catalogue.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/names.hpp"

namespace pptrain {
namespace {

constexpr double gb = 1e9;
constexpr double tera = 1e12;
/// Latency of a message between devices of a node and to the host. No data sheet says it: the order
/// of what is measured.
constexpr double link_latency = 3 * 1e-6;

/// A row in the units of data sheets. Rates are dense: where a sheet has them with sparsity alone,
/// half of those are here. Rates of matrix products: those of matrix units, summed in fp32, but for
/// `fp32`. 0: the device has none.
struct Sheet {
  const char* name;
  std::vector<std::string> aliases;
  double memory;                       // GB
  double memory_bandwidth;             // GB/s
  double fp32, tf32, bf16, fp16, fp8;  // TFLOP/s
  const char* link_name;
  double link, host_link;  // GB/s, one way, between two devices
  double watts;
  const char* source;
};

// One way of 16 lanes of PCI Express 3.0, 4.0 and 5.0 behind their coding of 128 bits in 130.
constexpr double pcie3 = 15.75;
constexpr double pcie4 = 31.5;
constexpr double pcie5 = 63.0;

// What data sheets call the bandwidth of NVLink is both ways together and of all links of a device:
// half of it goes to one other device behind an NVSwitch. Without a switch: a V100 divides its six
// links among its neighbours; a GH200 on a board of four has six of its 18 links to each other one;
// an MI300X one Infinity Fabric to each of seven; an MI250X is two dies that programs see as a
// device each, with one link at least between dies of two cards.
const std::vector<Sheet>& sheets() {
  static const std::vector<Sheet> all = {
#include "cluster/device_sheets.inc"
  };
  return all;
}

CatalogueDevice device_of(const Sheet& sheet) {
  CatalogueDevice device = {sheet.name, sheet.aliases, {},          sheet.link_name, {},
                            {},         sheet.watts,   sheet.source};
  device.kind.name = sheet.name;
  device.kind.memory = sheet.memory * gb;
  device.kind.memory_bandwidth = sheet.memory_bandwidth * gb;
  const std::array<std::pair<const char*, double>, 5> rates = {{{"fp32", sheet.fp32},
                                                                {"tf32", sheet.tf32},
                                                                {"bf16", sheet.bf16},
                                                                {"fp16", sheet.fp16},
                                                                {"fp8", sheet.fp8}}};
  for (const auto& [precision, rate] : rates) {
    if (rate > 0.0) device.kind.flops[precision] = rate * tera;
  }
  device.link = {sheet.link * gb, link_latency};
  device.host_link = {sheet.host_link * gb, link_latency};
  return device;
}

std::string first_word(const std::string& name) { return name.substr(0, name.find('-')); }

}  // namespace

const std::vector<CatalogueDevice>& device_catalogue() {
  static const std::vector<CatalogueDevice> devices = [] {
    std::vector<CatalogueDevice> made;
    for (const Sheet& sheet : sheets()) made.push_back(device_of(sheet));
    return made;
  }();
  return devices;
}

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const bool separates = c == ' ' || c == '_' || c == '-';
    if (separates && (plain.empty() || plain.back() == '-')) continue;
    plain += separates ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (!plain.empty() && plain.back() == '-') plain.pop_back();
  for (const std::string maker : {"nvidia-", "amd-", "tesla-", "geforce-", "instinct-"}) {
    if (plain.starts_with(maker)) plain.erase(0, maker.size());
  }
  return plain;
}

const CatalogueDevice* catalogue_device(const std::string& name) {
  const std::string plain = plain_name(name);
  for (const CatalogueDevice& device : device_catalogue()) {
    const bool is_alias =
        std::find(device.aliases.begin(), device.aliases.end(), plain) != device.aliases.end();
    if (device.name == plain || is_alias) return &device;
  }
  return nullptr;
}

std::vector<std::string> names_with(const std::string& name,
                                    const std::vector<std::string>& names) {
  const std::string plain = plain_name(name);
  std::vector<std::string> found;
  if (plain.size() < 2) return found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found), [&](const std::string& n) {
    return plain_name(n).find(plain) != std::string::npos;
  });
  return found;
}

std::vector<std::string> similar_names(const std::string& name,
                                       const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  const std::string plain = plain_name(name);
  std::vector<std::string> similar = names_with(name, names);
  if (similar.empty()) {
    std::copy_if(
        names.begin(), names.end(), std::back_inserter(similar),
        [&](const std::string& n) { return first_word(plain_name(n)) == first_word(plain); });
  }
  if (similar.empty()) {
    if (const std::string nearest = nearest_name(plain, names); !nearest.empty())
      similar.push_back(nearest);
  }
  if (similar.size() > most) similar.resize(most);
  return similar;
}

void add_catalogue_kind(Cluster& cluster, const std::string& name) {
  const CatalogueDevice* known = catalogue_device(name);
  const bool is_described = std::any_of(cluster.device_kinds.begin(), cluster.device_kinds.end(),
                                        [&](const DeviceKind& kind) { return kind.name == name; });
  if (known == nullptr || is_described) return;
  cluster.device_kinds.push_back(known->kind);
  cluster.device_kinds.back().name = name;
}

std::vector<std::string> catalogue_device_names() {
  std::vector<std::string> names;
  for (const CatalogueDevice& device : device_catalogue()) names.push_back(device.name);
  return names;
}

}  // namespace pptrain
