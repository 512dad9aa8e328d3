#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/atomic_file.hpp"
#include "data/token_file.hpp"

namespace pptrain {

/// Writes a token file with header; see token_file.hpp.
class TokenWriter {
 public:
  /// Creates the partial file; one that cannot be created throws `Error` (exit code 2).
  explicit TokenWriter(const std::string& path);

  /// Takes 32 bits for a token where the vocabulary needs them, else 16. Call before the first `append`.
  void set_vocabulary(std::int64_t vocabulary_size);
  /// Tokens are below the size of the vocabulary.
  void append(std::span<const std::uint32_t> tokens);
  std::int64_t num_tokens() const { return num_tokens_; }
  /// Writes the header and puts the file in its place.
  void commit();

 private:
  void write_header();

  std::string path_;
  AtomicFile file_;
  TokenFileFormat format_ = narrow_token_file;
  std::int64_t num_tokens_ = 0;
};

}  // namespace pptrain
