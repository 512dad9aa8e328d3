#pragma once

#include <filesystem>
#include <string>

namespace pptrain {

/// The folder of the user's cache for what pptrain has measured: below XDG_CACHE_HOME, or below the
/// user's home. Empty where neither is known. Users never share it, so that no one can leave a
/// profile for another.
std::filesystem::path user_cache_folder();

/// Writes a file of the cache beside its place and renames it, so that nobody reads half of one. A
/// cache that cannot be written is no reason to stop: a warning says so.
void write_cache(const std::string& path, const std::string& text);

}  // namespace pptrain
