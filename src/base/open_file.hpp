#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace pptrain {

/// The longest text that is read whole: files of configurations, tokenizers and plans are far
/// shorter.
inline constexpr std::int64_t longest_text_file = 1'000'000'000;

/// A regular file, open for reading. Nothing waits or is read where the name is that of something
/// else (a pipe, a device, a socket, a folder), whatever links lead there.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// Whether there is a regular file that could be opened; else `reason` says why not.
  bool is_open() const { return descriptor_ >= 0; }
  /// Whether nothing has the name.
  bool is_missing() const;
  /// Whether something has the name that is no regular file.
  bool is_of_another_kind() const { return !kind_.empty(); }
  /// Why it is not open, in words.
  std::string reason() const;

  /// The file must be open for these: its descriptor, which the object closes; its bytes; its path
  /// without links.
  int descriptor() const { return descriptor_; }
  /// Length of the file when it was opened; it may have changed since.
  std::int64_t bytes() const { return bytes_; }
  /// Path without links of the file, to see in which folder it really lies.
  std::string real_path() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int error_ = 0;
  std::string kind_;
  std::int64_t bytes_ = 0;
};

/// All of a regular file. One that cannot be read, or is longer than `most_bytes`, throws the
/// complaint as `Error` (exit code 2), with the reason where the complaint has none or the file is
/// there.
std::string read_text(const std::string& path, const Complaint& complaint,
                      std::int64_t most_bytes = longest_text_file);
std::string read_text(const OpenFile& file, const Complaint& complaint,
                      std::int64_t most_bytes = longest_text_file);

/// The text of a file that a folder of a model may have beside its weights; nothing where it has
/// none. A link that leads out of the folder throws `Error` (exit code 2), so that nothing else of
/// the disk is copied with a model. In the cache of Hugging Face's libraries, where a folder is
/// `snapshots/REVISION`, links lead to files beside `snapshots`.
std::optional<std::string> read_companion(const std::string& folder, const std::string& name);

}  // namespace pptrain
