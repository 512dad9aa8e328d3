#include "runtime/places/user_cache.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace pptrain {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The home directory of the user database; "" where it does not know the user, as in some
/// containers.
std::string home_in_database() {
  std::vector<char> text(1 << 14);
  passwd entry = {};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return "";
  return entry.pw_dir;
}

}  // namespace

std::filesystem::path user_cache_folder() {
  const std::string cache = variable("XDG_CACHE_HOME");
  if (!cache.empty()) return std::filesystem::path(cache) / "pptrain";
  const std::string home = variable("HOME").empty() ? home_in_database() : variable("HOME");
  return home.empty() ? std::filesystem::path()
                      : std::filesystem::path(home) / ".cache" / "pptrain";
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
