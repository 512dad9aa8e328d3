#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
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

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The home directory of the user database; "" where it does not know the user, as in some containers.
std::string home_in_database() {
  std::vector<char> text(1 << 14);
  passwd entry = {};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr) return "";
  return entry.pw_dir;
}

/// Never one that users share, in which another could leave a profile.
std::filesystem::path cache_folder() {
  const std::string cache = variable("XDG_CACHE_HOME");
  if (!cache.empty()) return std::filesystem::path(cache) / "pptrain";
  const std::string home = variable("HOME").empty() ? home_in_database() : variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "pptrain";
}

void warn_without_cache(const std::string& why) {
  log_warning("measured layer times are not kept: {}; name a folder of yours in XDG_CACHE_HOME", why);
}

/// Why the file cannot be looked for; "": it can.
std::string why_unreachable(const std::filesystem::path& file) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  return !is_there && error ? fmt::format("{}: {}", file.parent_path().string(), error.message()) : "";
}

}  // namespace

std::string profile_cache_path(const Config& config, const Model& model, const Cluster& cluster,
                               const std::vector<int>& degrees, const std::string& devices) {
  nlohmann::json key = {{"program", program_hash()},
                        {"model", model.name},
                        {"precision", to_string(config.training.precision)},
                        {"optimizer", config.optimizer.name},
                        {"momentum", config.optimizer.momentum > 0.0},
                        {"global_batch_size", config.training.global_batch_size},
                        {"degrees", degrees},
                        {"devices", devices}};
  for (const Layer& layer : model.layers) key["layers"].push_back(layer.signature);
  for (const NodeGroup& group : cluster.groups) {
    key["nodes"].push_back(
        {group.device_kind, group.count, group.num_devices, group.cores, group.core_pool, group.hosts});
  }
  const std::string text = key.dump();
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) {
    warn_without_cache("neither HOME is set nor does this user have a home directory");
    return "";
  }
  const std::filesystem::path file = folder / fmt::format("profile-{:016x}.json", XXH64(text.data(), text.size(), 0));
  const std::string why_not = why_unreachable(file);
  if (!why_not.empty()) warn_without_cache(why_not);
  return why_not.empty() ? file.string() : "";
}

std::string peak_rates_cache_path(const std::string& key) {
  return (cache_folder() / fmt::format("peak-rates-{:016x}.json", XXH64(key.data(), key.size(), 0))).string();
}

void write_cache(const std::string& path, const std::string& text) {
  try {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    write_file(path, text, "name a folder with room in XDG_CACHE_HOME");
  } catch (const Error& error) {
    log_warning("what was measured is not kept: {}", error.what());
  }
}

}  // namespace pptrain
