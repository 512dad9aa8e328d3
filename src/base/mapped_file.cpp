#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/signals.hpp"

namespace pptrain {
namespace {

/// Closes a file descriptor; the mapping stays.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void refuse(const std::string& where, const std::string& path, const std::string& problem,
                         const std::string& suggestion) {
  throw_bad_input({where, fmt::format("{} {}", path, problem), errno != 0 ? std::strerror(errno) : "", suggestion});
}

/// A page that is no longer there ends the process; not without a word.
void tell_lost_page(int) {
  constexpr char text[] =
      "pptrain: error: SIGBUS: a file in use, such as the training data, became shorter or cannot be read any more "
      "(or /dev/shm is full); leave the data as they are while a job runs\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text, sizeof text - 1);
}

}  // namespace

MappedFile::MappedFile(const std::string& path, const std::string& where) : path_(path) {
  catch_signal(SIGBUS, tell_lost_page, Handle::first);
  errno = 0;
  const Descriptor file(path);
  if (file.value() < 0) {
    refuse(where, path, errno == ENOENT ? "does not exist" : "cannot be opened", "check the path and its permissions");
  }
  struct stat status = {};
  if (::fstat(file.value(), &status) != 0) refuse(where, path, "cannot be examined", "");
  if (!S_ISREG(status.st_mode)) refuse(where, path, "is not a regular file", "name files, not folders");
  if (status.st_size == 0) refuse(where, path, "is empty", "name a file that holds data");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value(), 0);
  if (address == MAP_FAILED) refuse(where, path, "cannot be mapped into memory", "");
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void MappedFile::unmap() {
  // The mapping is ours; munmap takes no const pointer.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

}  // namespace pptrain
