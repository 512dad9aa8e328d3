#include "runtime/places/gpu_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text_table.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

std::string memory_text(const GpuInfo& gpu) {
  return fmt::format("{} of {}", format_bytes(gpu.free_bytes), format_bytes(gpu.memory_bytes));
}

std::string numa_text(const GpuReport& gpu) {
  constexpr double own = 10.0;  // by definition of the firmware's table (ACPI, SLIT)
  if (!gpu.numa_node) return "-";
  if (!gpu.numa_distance || *gpu.numa_distance <= own) return fmt::format("{}", *gpu.numa_node);
  return fmt::format("{} (distance {:.0f})", *gpu.numa_node, *gpu.numa_distance);
}

/// "NVLink to 1-3, through the host to 4".
std::string links_text(const std::map<int, GpuLink>& links) {
  std::map<GpuLink, std::vector<int>> ranks;
  for (const auto& [rank, link] : links) {
    if (link != GpuLink::same_gpu) ranks[link].push_back(rank);
  }
  std::string text;
  for (const auto& [link, others] : ranks) {
    text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", to_string(link), ranges(others));
  }
  return text.empty() ? "-" : text;
}

std::string sharers_text(const std::vector<RankHost>& ranks, std::size_t own) {
  std::vector<int> sharers;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (r != own && ranks[r].shares_gpu(ranks[own])) sharers.push_back(static_cast<int>(r));
  }
  return sharers.empty() ? "-" : ranges(sharers);
}

std::vector<std::string> row_of(const std::vector<RankHost>& ranks, std::size_t r,
                                const GpuNeighbours& neighbours) {
  const RankHost& rank = ranks[r];
  std::vector<std::string> row = {fmt::format("{}", r), rank.host.name};
  if (!rank.gpu) {
    row.insert(row.end(), {"none: the host", "-", "-", "-", "-", "-"});
    return row;
  }
  row.insert(row.end(), {rank.gpu->info.name, rank.gpu->info.bus_id, memory_text(rank.gpu->info),
                         numa_text(*rank.gpu), links_text(neighbours[r]), sharers_text(ranks, r)});
  return row;
}

}  // namespace

std::string describe_gpus(const std::vector<RankHost>& ranks, const GpuNeighbours& neighbours) {
  if (std::none_of(ranks.begin(), ranks.end(),
                   [](const RankHost& rank) { return rank.gpu.has_value(); }))
    return "";
  Rows rows = {
      {"rank", "host", "GPU", "bus", "free memory", "NUMA node", "links to ranks", "shared with"}};
  for (std::size_t r = 0; r < ranks.size(); ++r) rows.push_back(row_of(ranks, r, neighbours));
  return "GPUs\n" + align(rows);
}

}  // namespace pptrain
