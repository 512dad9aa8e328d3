#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/log.hpp"
#include "runtime/measure/profiler.hpp"
#include "runtime/places/user_cache.hpp"

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

void warn_without_cache(const std::string& why) {
  log_warning("measured layer times are not kept: {}; name a folder of yours in XDG_CACHE_HOME",
              why);
}

/// Why the file cannot be looked for; "": it can.
std::string why_unreachable(const std::filesystem::path& file) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  return !is_there && error ? fmt::format("{}: {}", file.parent_path().string(), error.message())
                            : "";
}

}  // namespace

std::string profile_cache_path(const Config& config, const Model& model, const Cluster& cluster,
                               const std::vector<int>& degrees, const std::string& devices) {
  nlohmann::json key = {{"program", program_hash()},
                        {"model", model.name},
                        {"precision", to_string(config.training.precision)},
                        {"optimizer", config.optimizer.name()},
                        {"momentum", config.optimizer.momentum > 0.0},
                        {"global_batch_size", config.training.global_batch_size},
                        {"degrees", degrees},
                        {"devices", devices}};
  for (const Layer& layer : model.layers) key["layers"].push_back(layer.signature);
  for (const NodeGroup& group : cluster.groups) {
    key["nodes"].push_back({group.device_kind, group.count, group.num_devices, group.cores,
                            group.core_pool, group.hosts});
  }
  const std::string text = key.dump();
  const std::filesystem::path folder = user_cache_folder();
  if (folder.empty()) {
    warn_without_cache("neither HOME is set nor does this user have a home directory");
    return "";
  }
  const std::filesystem::path file =
      folder / fmt::format("profile-{:016x}.json", XXH64(text.data(), text.size(), 0));
  const std::string why_not = why_unreachable(file);
  if (!why_not.empty()) warn_without_cache(why_not);
  return why_not.empty() ? file.string() : "";
}

}  // namespace pptrain
