#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace pptrain {

/// A file mapped into memory for reading. All ranks of a host share its pages.
class MappedFile {
 public:
  /// A file that is missing, a directory, empty or unreadable throws `Error` (exit code 2) with
  /// `where` as the place.
  MappedFile(const std::string& path, const std::string& where);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// The path as it was given.
  const std::string& path() const { return path_; }
  /// All bytes of the file; valid while this lives, or what it was moved to.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void unmap();

  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace pptrain
