#include "base/mapped_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/open_file.hpp"
#include "base/signals.hpp"

namespace pptrain {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& path,
                         const std::string& problem, const std::string& suggestion) {
  throw_bad_input({where, fmt::format("{} {}", path, problem),
                   errno != 0 ? std::strerror(errno) : "", suggestion});
}

/// A page that is no longer there ends the process; not without a word.
void tell_lost_page(int) {
  constexpr char text[] =
      "pptrain: error: SIGBUS: a file in use, such as the training data, became shorter or cannot "
      "be read any more "
      "(or /dev/shm is full); leave the data as they are while a job runs\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text, sizeof text - 1);
}

}  // namespace

MappedFile::MappedFile(const std::string& path, const std::string& where) : path_(path) {
  catch_signal(SIGBUS, tell_lost_page, Handle::first);
  const OpenFile file(path);
  errno = 0;
  if (file.is_of_another_kind())
    refuse(where, path, "is not a regular file", "name files, not folders");
  if (!file.is_open()) {
    throw_bad_input(
        {where,
         fmt::format("{} {}", path, file.is_missing() ? "does not exist" : "cannot be opened"),
         file.reason(), "check the path and its permissions"});
  }
  if (file.bytes() == 0) refuse(where, path, "is empty", "name a file that holds data");
  const auto size = static_cast<std::size_t>(file.bytes());
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
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
