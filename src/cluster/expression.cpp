#include "cluster/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/log_once.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "cluster/device_catalogue.hpp"
#include "cluster/node_catalogue.hpp"

namespace pptrain {
namespace {

/// The network of a node of which nothing is known but its devices.
constexpr double assumed_gbit = 100;
constexpr Link assumed_uplink = {assumed_gbit * 1.25e8, 15 * 1e-6};

std::string trimmed(const std::string& text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto begin = std::find_if_not(text.begin(), text.end(), is_space);
  const auto end = std::find_if_not(text.rbegin(), text.rend(), is_space).base();
  return begin < end ? std::string(begin, end) : "";
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(trimmed(text.substr(begin, end == std::string::npos ? end : end - begin)));
  }
  return parts;
}

/// A part of the text as it is written: counts, a name, a bandwidth.
struct Part {
  std::string text;
  std::vector<int> counts;
  std::string name;
  std::optional<double> uplink;  // bytes per second
};

/// The parts of a text one by one; what is wrong with one is told with the whole.
class ExpressionReader {
 public:
  explicit ExpressionReader(const std::string& text) : text_(text) {}

  std::vector<Part> parts() const {
    if (trimmed(text_).empty()) refuse("names no nodes", "it is empty", example);
    std::vector<Part> read;
    for (const std::string& part : split_at(text_, ',')) {
      if (part.empty()) refuse("has an empty part", "commas stand between parts", "remove a comma");
      read.push_back(read_part(part));
    }
    return read;
  }

  [[noreturn]] void refuse(const std::string& problem, const std::string& reason,
                           const std::string& suggestion) const {
    throw_bad_input({fmt::format("cluster \"{}\"", shown(text_)), problem, reason, suggestion});
  }

  static constexpr const char* example = "write for instance \"2x dgx-h100, 1x 4x l40s @ 100Gb/s\"";

 private:
  Part read_part(const std::string& text) const {
    const std::vector<std::string> sides = split_at(text, '@');
    if (sides.size() > 2)
      refuse(fmt::format("has two @ in \"{}\"", text), "a node has one network", example);
    Part part;
    part.text = text;
    if (sides.size() == 2) part.uplink = bandwidth(sides[1]);
    part.name = sides[0];
    while (take_count(part)) {
    }
    if (part.counts.size() > 2) {
      refuse(fmt::format("has {} counts in \"{}\"", part.counts.size(), text),
             "one says how many nodes there are, a second one how many devices each has", example);
    }
    if (part.name.empty())
      refuse(fmt::format("names nothing in \"{}\"", text), "a node or a device is missing",
             example);
    return part;
  }

  /// Takes a count and its x off the front of the part's name; false where there is none.
  bool take_count(Part& part) const {
    const std::size_t end = part.name.find_first_not_of("0123456789.+-");
    if (end == 0 || end == std::string::npos) return false;
    const std::size_t times = part.name.find_first_not_of(' ', end);
    if (times == std::string::npos ||
        (part.name[times] != 'x' && part.name[times] != 'X' && part.name[times] != '*')) {
      return false;
    }
    part.counts.push_back(count(part.name.substr(0, end)));
    part.name = trimmed(part.name.substr(times + 1));
    return true;
  }

  int count(const std::string& digits) const {
    int value = 0;
    const char* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value > 0) return value;
    refuse(fmt::format("has the count \"{}\"", digits), "a count is a whole number of at least 1",
           example);
  }

  /// Bytes per second of "100Gb/s", "100 Gbps", "100 Gbit/s", "12.5 GB/s".
  double bandwidth(const std::string& written) const {
    const std::optional<double> value = parse_quantity(written, Quantity::bandwidth);
    if (value && *value > 0.0 && *value <= 1e18) return *value;
    refuse(fmt::format("has the network \"{}\"", written),
           "a bandwidth with its unit stands behind @", "write for instance \"@ 100Gb/s\"");
  }

  std::string text_;
};

/// Refuses a name that is in neither catalogue.
[[noreturn]] void refuse_name(const ExpressionReader& reader, const std::string& name) {
  std::vector<std::string> names = catalogue_node_names();
  const std::vector<std::string> devices = catalogue_device_names();
  names.insert(names.end(), devices.begin(), devices.end());
  const std::vector<std::string> near = similar_names(name, names);
  reader.refuse(fmt::format("\"{}\" is no node or device that is known", name),
                "nor is there a file of the whole text",
                near.empty() ? "`pptrain cluster --list` shows what is known"
                             : fmt::format("did you mean {}? `pptrain cluster --list` shows all",
                                           join(near, " or ")));
}

NodeGroup group_of(const ExpressionReader& reader, const Part& part) {
  NodeGroup group;
  if (const CatalogueNode* node = catalogue_node(part.name)) {
    if (part.counts.size() == 2) {
      reader.refuse(
          fmt::format("has two counts in \"{}\"", part.text),
          fmt::format("a {} has {} {} of its own", node->name, node->num_devices, node->device),
          fmt::format("write \"{}x {}\"", part.counts[0], node->name));
    }
    group = node_group(*node, part.counts.empty() ? 1 : part.counts[0]);
  } else if (const CatalogueDevice* device = catalogue_device(part.name)) {
    group.num_devices = part.counts.empty() ? 1 : part.counts.back();
    group.count = part.counts.size() == 2 ? part.counts[0] : 1;
    group.kind = fmt::format("{} x {}", group.num_devices, device->name);
    group.device_kind = device->name;
    if (group.num_devices > 1) group.link = device->link;
    group.uplink = assumed_uplink;
    group.host_link = device->host_link;
  } else {
    refuse_name(reader, part.name);
  }
  if (part.uplink) group.uplink.bandwidth = *part.uplink;
  return group;
}

/// Says of nodes whose network nobody said which one they got.
void note_assumption(const Cluster& cluster, const std::vector<Part>& parts) {
  if (cluster.num_nodes() == 1) return;
  std::vector<std::string> assumed;
  for (const Part& part : parts) {
    if (!part.uplink && catalogue_node(part.name) == nullptr)
      assumed.push_back("\"" + part.text + "\"");
  }
  if (assumed.empty()) return;
  log_notice_once(fmt::format(
      "the network of {} is taken as {} Gbit/s for each node; write ... @ 400Gb/s for another one",
      join(assumed, ", "), assumed_gbit));
}

}  // namespace

bool means_cluster_file(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored) || text.ends_with(".toml")) return true;
  const std::vector<std::string> parts = split_at(text, ',');
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.substr(0, part.find('@')).find('/') != std::string::npos;
  });
}

Cluster parse_cluster_expression(const std::string& text) {
  const ExpressionReader reader(text);
  const std::vector<Part> parts = reader.parts();
  Cluster cluster;
  std::vector<std::string> names;
  for (const Part& part : parts) {
    const NodeGroup& group = cluster.groups.emplace_back(group_of(reader, part));
    names.push_back(part.text);
    add_catalogue_kind(cluster, group.device_kind);
  }
  cluster.name = join(names);
  cluster.finish(fmt::format("cluster \"{}\"", text));
  note_assumption(cluster, parts);
  return cluster;
}

}  // namespace pptrain
