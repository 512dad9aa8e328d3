#include "probe/slurm.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace pptrain {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// Whether the shell takes it as one word.
bool is_plain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

/// What the command prints; "" where it fails.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 4096> buffer = {};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), count);
  return pclose(pipe) == 0 ? text : "";
}

}  // namespace

SlurmPlace slurm_place() {
  SlurmPlace place;
  place.node = variable("SLURMD_NODENAME");
  // For instance "switch.switch.node" and "spine.leaf1.n17"; without a topology "node" and "n17".
  const std::vector<std::string> kinds = split(variable("SLURM_TOPOLOGY_ADDR_PATTERN"), '.');
  const std::vector<std::string> names = split(variable("SLURM_TOPOLOGY_ADDR"), '.');
  for (std::size_t i = 0; i < std::min(kinds.size(), names.size()); ++i) {
    if (kinds[i] == "switch" && !names[i].empty()) place.switches.push_back(names[i]);
  }
  return place;
}

std::map<std::string, std::string> slurm_features(const std::vector<std::string>& nodes) {
  std::map<std::string, std::string> features;
  if (variable("SLURM_JOB_ID").empty() || !std::all_of(nodes.begin(), nodes.end(), is_plain))
    return features;
  std::string list;
  for (const std::string& node : nodes) list += (list.empty() ? "" : ",") + node;
  // A line for each node: "NodeName=n17 Arch=x86_64 ... ActiveFeatures=skylake,ib Gres=(null) ...".
  std::istringstream lines(
      output_of("timeout 10 scontrol --oneliner show node " + list + " 2>/dev/null"));
  for (std::string line; std::getline(lines, line);) {
    std::string node;
    for (const std::string& word : split(line, ' ')) {
      if (word.starts_with("NodeName=")) node = word.substr(word.find('=') + 1);
      if (!word.starts_with("ActiveFeatures=")) continue;
      const std::string value = word.substr(word.find('=') + 1);
      if (value != "(null)") features[node] = value;
    }
  }
  return features;
}

}  // namespace pptrain
