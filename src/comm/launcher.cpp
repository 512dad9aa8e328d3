#include "comm/launcher.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace pptrain {

std::optional<int> launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return std::nullopt;
}

int num_launched_ranks() {
  if (!launched_rank()) return 1;
  // Slurm's own comes last: srun has started the ranks themselves where no other variable is there.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 1;
}

int num_ranks_of_host() {
  const char* value = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return value ? std::atoi(value) : num_launched_ranks();
}

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The value of a variable in the environment of a process, as /proc has it; nothing where it is
/// not set.
std::optional<std::string> value_in(const std::string& environment, const std::string& name) {
  const std::string all = std::string(1, '\0') + environment;
  const std::string begin = std::string(1, '\0') + name + "=";
  const auto at = all.find(begin);
  if (at == std::string::npos) return std::nullopt;
  return std::string(all.c_str() + at + begin.size());
}

/// The state letter of a process stands behind its name, which is in parentheses.
bool is_stopped(const fs::path& process) {
  const std::string stat = content_of(process / "stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
  return stat[name_end + 2] == 'T' || stat[name_end + 2] == 't';
}

}  // namespace

std::vector<StoppedRank> stopped_ranks() {
  const char* job = std::getenv("PMIX_NAMESPACE");
  if (job == nullptr) return {};
  std::vector<StoppedRank> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    int process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc())
      continue;
    const std::string environment = content_of(entry->path() / "environ");
    const std::optional<std::string> rank = value_in(environment, "PMIX_RANK");
    if (!rank || value_in(environment, "PMIX_NAMESPACE") != job || !is_stopped(entry->path()))
      continue;
    found.push_back({std::atoi(rank->c_str()), process});
  }
  std::sort(found.begin(), found.end(),
            [](const StoppedRank& a, const StoppedRank& b) { return a.rank < b.rank; });
  return found;
}

bool launched_by_mpirun() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr; }

}  // namespace pptrain
