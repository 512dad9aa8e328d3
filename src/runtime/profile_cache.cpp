#include <fmt/format.h>
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/profiler.hpp"

namespace pptrain {
namespace {

/// Hash of the running program: a new build measures anew.
std::uint64_t program_hash() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::vector<char> block(1 << 20);
  XXH64_state_t* state = XXH64_createState();
  XXH64_reset(state, 0);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    XXH64_update(state, block.data(), static_cast<std::size_t>(file.gcount()));
  }
  const std::uint64_t hash = XXH64_digest(state);
  XXH64_freeState(state);
  return hash;
}

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "pptrain";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr && *home != '\0' ? home : "/tmp") / ".cache" / "pptrain";
}

}  // namespace

std::string profile_cache_path(const Config& config, const Model& model, const Cluster& cluster,
                               const std::vector<int>& degrees, const std::string& devices) {
  nlohmann::json key = {{"program", program_hash()},
                        {"model", model.name},
                        {"inputs", model.inputs},
                        {"classes", model.classes},
                        {"layers", config.model.layers},
                        {"hidden_size", model.hidden_size},
                        {"heads", model.heads},
                        {"vocabulary_size", model.vocabulary_size},
                        {"sequence_length", model.sequence_length},
                        {"tied", model.tied},
                        {"precision", to_string(config.training.precision)},
                        {"optimizer", config.optimizer.name},
                        {"global_batch_size", config.training.global_batch_size},
                        {"degrees", degrees},
                        {"devices", devices}};
  for (const NodeGroup& group : cluster.groups) {
    key["nodes"].push_back(
        {group.device_kind, group.count, group.num_devices, group.cores, group.core_pool, group.hosts});
  }
  const std::string text = key.dump();
  return (cache_folder() / fmt::format("profile-{:016x}.json", XXH64(text.data(), text.size(), 0))).string();
}

std::string peak_rates_cache_path(const std::string& key) {
  return (cache_folder() / fmt::format("peak-rates-{:016x}.json", XXH64(key.data(), key.size(), 0))).string();
}

}  // namespace pptrain
