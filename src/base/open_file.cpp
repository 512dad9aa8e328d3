#include "base/open_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace pptrain {
namespace {

namespace fs = std::filesystem;

/// What a file is that is no regular one.
std::string kind_of(mode_t mode) {
  if (S_ISREG(mode)) return "";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// The folder that files of a model's folder may lie in: itself, or what a revision of the cache
/// belongs to.
fs::path home_of(const fs::path& folder) {
  std::error_code ignored;
  const fs::path whole = fs::canonical(folder, ignored);
  const bool is_revision = whole.parent_path().filename() == "snapshots";
  return is_revision ? whole.parent_path().parent_path() : whole;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && rest != path.end();
}

}  // namespace

OpenFile::OpenFile(const std::string& path) : path_(path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status = {};
  if (descriptor < 0) {
    error_ = errno;
    if (::stat(path.c_str(), &status) == 0)
      kind_ = kind_of(status.st_mode);  // sockets cannot be opened
    return;
  }
  if (::fstat(descriptor, &status) != 0) {
    error_ = errno;
  } else {
    kind_ = kind_of(status.st_mode);
  }
  if (error_ != 0 || !kind_.empty()) {
    ::close(descriptor);
    return;
  }
  descriptor_ = descriptor;
  bytes_ = status.st_size;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool OpenFile::is_missing() const { return error_ == ENOENT || error_ == ENOTDIR; }

std::string OpenFile::reason() const {
  if (!kind_.empty()) return fmt::format("it is {}, not a regular file", kind_);
  return error_ != 0 ? std::strerror(error_) : "";
}

std::string OpenFile::real_path() const {
  std::error_code error;
  const fs::path opened = fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor_), error);
  if (!error) return opened.string();
  return fs::canonical(path_, error).string();
}

std::string read_text(const OpenFile& file, const Complaint& complaint, std::int64_t most_bytes) {
  const auto refuse = [&](const std::string& reason) {
    Complaint full = complaint;
    if (full.reason.empty() || !file.is_missing()) full.reason = reason;
    throw_bad_input(full);
  };
  if (!file.is_open()) refuse(file.reason());
  const std::string too_long =
      fmt::format("it has more than {} bytes, the limit for such a file", most_bytes);
  if (file.bytes() > most_bytes) refuse(too_long);
  constexpr std::size_t piece = std::size_t{1} << 16;
  std::string text;
  text.reserve(static_cast<std::size_t>(file.bytes()) + piece);
  // A file may grow while it is read, and those of the kernel have no length.
  for (std::size_t used = 0;;) {
    text.resize(used + piece);
    const ssize_t got = ::read(file.descriptor(), text.data() + used, piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(std::strerror(errno));
    used += static_cast<std::size_t>(got);
    if (static_cast<std::int64_t>(used) > most_bytes) refuse(too_long);
    if (got == 0) {
      text.resize(used);
      return text;
    }
  }
}

std::string read_text(const std::string& path, const Complaint& complaint,
                      std::int64_t most_bytes) {
  return read_text(OpenFile(path), complaint, most_bytes);
}

std::optional<std::string> read_companion(const std::string& folder, const std::string& name) {
  const std::string path = (fs::path(folder) / name).string();
  const OpenFile file(path);
  if (file.is_missing()) return std::nullopt;
  if (file.is_open() && !lies_in(file.real_path(), home_of(folder))) {
    throw_bad_input({path, "is a link that leads out of its folder",
                     "it would be copied with the model from elsewhere",
                     "put the file itself into the folder, or remove the link"});
  }
  return read_text(file, {path, "cannot be read", "", "put a file there, or remove it"});
}

}  // namespace pptrain
