#include "base/files.hpp"

#include <filesystem>
#include <system_error>

namespace pptrain {

std::optional<std::string> replaced_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!fs::exists(status)) return path;
  if (!fs::is_regular_file(status)) return std::nullopt;
  const fs::path whole = fs::canonical(path, ignored);
  return whole.empty() ? path : whole.string();
}

}  // namespace pptrain
