#pragma once

#include <cstdint>
#include <string>

#include "base/mapped_file.hpp"

namespace pptrain {

/// Header of a token file: 256 int32 with magic, version and number of tokens first, zeros behind;
/// 16-bit little-endian tokens follow. The convention of llm.c (github.com/karpathy/llm.c).
constexpr std::int32_t token_file_magic = 20240520;
constexpr std::int32_t token_file_version = 1;
constexpr std::size_t token_file_header_bytes = 256 * sizeof(std::int32_t);

/// The tokens of one file, mapped into memory.
///
/// What the file holds is told by, in this order: the magic number (a header and 16-bit tokens), a
/// name that ends in `.bin` (16-bit tokens without header), else text (each byte is a token).
class TokenFile {
 public:
  /// A file that cannot be read or contradicts its header throws `Error` (exit code 2).
  TokenFile(const std::string& path, const std::string& where);

  const std::string& path() const { return file_.path(); }
  /// Number of tokens.
  std::int64_t size() const { return size_; }
  /// Copies tokens [begin, begin + count) to `out`.
  void copy(std::int64_t begin, std::int64_t count, std::uint16_t* out) const;
  /// Refuses a token of `vocabulary_size` or more: file, position and value. Reads the whole file.
  void check_vocabulary(std::int64_t vocabulary_size, const std::string& where) const;

 private:
  void read_header(const std::string& where);
  const std::byte* data() const { return file_.bytes().data() + offset_; }

  MappedFile file_;
  std::size_t offset_ = 0;       // bytes before the first token
  std::size_t token_bytes_ = 1;  // 1 for text, 2 for tokens
  std::int64_t size_ = 0;
};

}  // namespace pptrain
