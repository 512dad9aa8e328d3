#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"

namespace pptrain {
namespace {

/// Whether the path still names the open file: a program that had it before may have renamed it.
bool still_names(const std::string& path, int descriptor) {
  struct stat there = {}, opened = {};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(descriptor, &opened) == 0 &&
         there.st_dev == opened.st_dev && there.st_ino == opened.st_ino;
}

/// Whether no other program writes the file. One whose file system has no locks is taken for free.
bool lock_partial(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, std::string suggestion)
    : path_(file_to_replace(path)), suggestion_(std::move(suggestion)) {
  open_partial();
  stream_.open(partial_, std::ios::binary | std::ios::trunc);
  if (stream_) return;
  const int error = errno;
  ::close(lock_);
  throw_unwritable({path, "cannot be written", "", suggestion_}, error);
}

void AtomicFile::open_partial() {
  for (int others = 0;; ::close(lock_)) {
    partial_ = path_ + ".partial" + (others == 0 ? "" : fmt::format("-{}", others));
    lock_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) throw_unwritable({path_, "cannot be written", "", suggestion_}, errno);
    if (!lock_partial(lock_)) {
      ++others;
    } else if (still_names(partial_, lock_)) {
      return;
    }
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_) {
    stream_.close();
    std::remove(partial_.c_str());
  }
  ::close(lock_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  stream_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  if (!stream_ && error_ == 0) error_ = errno;
}

void AtomicFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  stream_.seekp(offset);
  if (!stream_ && error_ == 0) error_ = errno;
  write(bytes);
}

void AtomicFile::flush() {
  stream_.flush();
  if (!stream_ && error_ == 0) error_ = errno;
  if (error_ != 0) throw_unwritable({path_, "cannot be written", "", suggestion_}, error_);
}

void AtomicFile::commit() {
  stream_.close();
  if (!stream_ && error_ == 0) error_ = errno;
  if (error_ == 0 && std::rename(partial_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ != 0) throw_unwritable({path_, "cannot be written", "", suggestion_}, error_);
  committed_ = true;
}

void write_file(const std::string& path, std::string_view text, const std::string& suggestion) {
  AtomicFile file(path, suggestion);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace pptrain
