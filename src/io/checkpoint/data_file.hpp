#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pptrain {

/// A file of which several ranks read or write parts. Every return value of the system is looked
/// at.
class DataFile {
 public:
  enum class Mode { read, write };

  /// Opens a file that is there. Failures of this and of every function throw `Error`: exit code 2
  /// where the file is read, 4 where it is written.
  DataFile(const std::string& path, Mode mode);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  /// `what` names the part for messages.
  void write(std::int64_t offset, const void* data, std::size_t bytes, const std::string& what);
  /// Reads so many bytes from byte `offset` on; a file that ends before they do is a failure.
  void read(std::int64_t offset, void* data, std::size_t bytes, const std::string& what) const;
  /// Brings what was written to the disk.
  void sync();
  /// Bytes of the file as it is now.
  std::int64_t size() const;

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& reason) const;

  std::string path_;
  Mode mode_;
  int descriptor_ = -1;
};

/// Brings a file, or the names in a folder, to the disk. Throws `Error` (exit code 4).
void sync_path(const std::string& path);

}  // namespace pptrain
