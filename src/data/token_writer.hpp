#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "data/token_file.hpp"

namespace pptrain {

/// What a file of tokens looks like.
enum class TokenLayout {
  header,   ///< the header of token_file.hpp, then the tokens
  indexed,  ///< Megatron-LM's: the tokens alone in .bin; lengths and documents are in .idx
            ///< (token_index.hpp)
};

/// Writes the tokens of a file, and its header where the layout has one.
class TokenWriter {
 public:
  /// Creates the partial file; one that cannot be created throws `Error` (exit code 2).
  explicit TokenWriter(const std::string& path, TokenLayout layout = TokenLayout::header);

  /// Takes 32 bits for a token where the vocabulary needs them, else 16; `tokenizer` is its
  /// `tokenizer_digest`, which goes into the header. Call before the first `append`.
  void set_vocabulary(std::int64_t vocabulary_size, std::uint64_t tokenizer);
  /// Tokens are below the size of the vocabulary.
  void append(std::span<const std::uint32_t> tokens);
  /// Tokens that were appended so far.
  std::int64_t num_tokens() const { return num_tokens_; }
  /// Whether tokens have 32 bits in the file, else 16.
  bool is_wide() const { return format_.type == TokenType::uint32; }
  /// Bytes of each token in the file: 2 or 4.
  std::size_t token_bytes() const { return bytes_of(format_.type); }
  /// Writes the header and puts the file in its place.
  void commit();

 private:
  void write_header();

  std::string path_;
  TokenLayout layout_;
  AtomicFile file_;
  TokenFileFormat format_ = narrow_token_file;
  std::uint64_t tokenizer_ = 0;
  std::vector<std::uint16_t> narrow_;  ///< what was appended last, where tokens have 16 bits
  std::int64_t num_tokens_ = 0;
};

}  // namespace pptrain
