#include "io/checkpoint/data_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Some systems take no more at once.
constexpr std::size_t most_bytes_at_once = std::size_t{1} << 30;

}  // namespace

DataFile::DataFile(const std::string& path, Mode mode) : path_(path), mode_(mode) {
  descriptor_ =
      ::open(path.c_str(), (mode == Mode::read ? O_RDONLY | O_NONBLOCK : O_WRONLY) | O_CLOEXEC);
  if (descriptor_ < 0) fail("it", std::strerror(errno));
}

DataFile::~DataFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void DataFile::fail(const std::string& what, const std::string& reason) const {
  if (mode_ == Mode::read) {
    throw_bad_input({path_, what + " cannot be read", reason, "is the file torn?"});
  }
  throw_runtime_failure({path_, what + " cannot be written", reason, "is the disk full?"});
}

void DataFile::write(std::int64_t offset, const void* data, std::size_t bytes,
                     const std::string& what) {
  const char* begin = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written =
        ::pwrite(descriptor_, begin, std::min(bytes, most_bytes_at_once), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(what, written < 0 ? std::strerror(errno) : "nothing was taken");
#ifdef __linux__
    // The disk begins at once instead of at the end; only a hint, so that its result does not
    // matter.
    static_cast<void>(::sync_file_range(descriptor_, offset, written, SYNC_FILE_RANGE_WRITE));
#endif
    begin += written;
    offset += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void DataFile::read(std::int64_t offset, void* data, std::size_t bytes,
                    const std::string& what) const {
  char* begin = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t taken = ::pread(descriptor_, begin, std::min(bytes, most_bytes_at_once), offset);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) fail(what, taken < 0 ? std::strerror(errno) : "the file ends before it");
    begin += taken;
    offset += taken;
    bytes -= static_cast<std::size_t>(taken);
  }
}

void DataFile::sync() {
  if (::fsync(descriptor_) != 0) fail("it", std::strerror(errno));
}

std::int64_t DataFile::size() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) fail("its size", std::strerror(errno));
  return status.st_size;
}

void sync_path(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!done)
    throw_runtime_failure({path, "it cannot be brought to the disk", std::strerror(error), ""});
}

}  // namespace pptrain
