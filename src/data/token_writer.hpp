#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace pptrain {

/// A file that is written beside its place and renamed into it by `commit`; without that nothing
/// is left. One that cannot be created throws `Error` with exit code 2, one that cannot be finished
/// (a full disk) with exit code 4.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Overwrites from the start of the file.
  void rewrite_start(std::span<const std::byte> bytes);
  void commit();

 private:
  std::string path_;
  std::string partial_;
  std::ofstream stream_;
  bool committed_ = false;
};

/// Writes a token file with header; see token_file.hpp.
class TokenWriter {
 public:
  explicit TokenWriter(const std::string& path);

  void append(std::span<const std::uint16_t> tokens);
  std::int64_t num_tokens() const { return num_tokens_; }
  /// Writes the header and puts the file in its place.
  void commit();

 private:
  void write_header();

  std::string path_;
  AtomicFile file_;
  std::int64_t num_tokens_ = 0;
};

}  // namespace pptrain
