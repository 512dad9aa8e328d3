#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace pptrain {

/// A file that is written beside its place, as PATH.partial, and renamed into it by `commit`;
/// without that nothing is left, and what was there stays as it was. Two programs that write the
/// same file at a time both write whole ones. What a program that was killed has left is written
/// over, where the file system has locks.
class AtomicFile {
 public:
  /// Creates the partial file. One that cannot be created throws `Error` as `throw_unwritable`
  /// does, with `suggestion` as what to do.
  explicit AtomicFile(const std::string& path,
                      std::string suggestion = "name a file in a folder you can write to");
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Failures are told by `commit`.
  void write(std::span<const std::byte> bytes);
  /// Overwrites from the start of the file.
  void rewrite_start(std::span<const std::byte> bytes) { write_at(0, bytes); }
  /// Writes from this byte of the file on, which may lie behind its end: what is between is 0 then.
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  /// Writes out what is buffered. Throws `Error` as `commit` does, so that several files can be put
  /// in their places after all of them are written.
  void flush();
  /// Puts the file in its place. Throws `Error` as the constructor does.
  void commit();

 private:
  void open_partial();

  std::string path_;
  std::string suggestion_;
  std::string partial_;
  std::ofstream stream_;
  int lock_ = -1;  ///< a descriptor of the partial file
  int error_ = 0;  ///< `errno` of the first failure
  bool committed_ = false;
};

/// Writes a file that appears whole, or stays as it was. Throws `Error` as `AtomicFile` does.
void write_file(const std::string& path, std::string_view text,
                const std::string& suggestion = "name a file in a folder you can write to");

}  // namespace pptrain
