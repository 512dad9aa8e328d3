#include "base/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"

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

std::string file_to_replace(const std::string& path) {
  const std::optional<std::string> file = replaced_file(path);
  if (!file)
    throw_bad_input(
        {path, "cannot be written", "something else than a file has this name", "name a file"});
  return *file;
}

void throw_unwritable(Complaint complaint, int error) {
  if (complaint.reason.empty()) complaint.reason = std::strerror(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO)
    throw_runtime_failure(complaint);
  throw_bad_input(complaint);
}

}  // namespace pptrain
