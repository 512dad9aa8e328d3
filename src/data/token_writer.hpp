#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/atomic_file.hpp"

namespace pptrain {

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
