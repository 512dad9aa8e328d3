#pragma once

#include <cstdint>
#include <string>

namespace pptrain {

/// The identity, size and time of the last change of a file, by which a reader notices that
/// somebody writes it.
class FileStamp {
 public:
  /// The stamp of the file as it is now; a path without a file has one too.
  explicit FileStamp(std::string path);

  /// Throws `Error` (exit code 4) with the path where the same file has another size or
  /// modification time now. One that was removed, or has made way for another of its name, is still
  /// what it was for those who have it open.
  void check_unchanged() const;

 private:
  struct State {
    std::uint64_t device = 0, number = 0;  ///< of the file; 0: there is none
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const State&) const = default;
  };
  static State state_of(const std::string& path);

  std::string path_;
  State state_;
};

}  // namespace pptrain
