#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_stamp.hpp"
#include "base/mapped_file.hpp"
#include "data/token_index.hpp"
#include "data/token_type.hpp"

namespace pptrain {

/// Header of a token file: 256 int32 with magic, version and number of tokens first; little-endian
/// tokens follow. The convention of llm.c (github.com/karpathy/llm.c), which has one such header
/// for tokens of 16 bits and one for 32, and zeros behind these three. What is written here says
/// behind them what made the tokens: a mark, and the two halves of a `tokenizer_digest`, the lower
/// one first.
struct TokenFileFormat {
  std::int32_t magic;
  std::int32_t version;
  TokenType type;
};
constexpr TokenFileFormat narrow_token_file = {20240520, 1, TokenType::uint16};
constexpr TokenFileFormat wide_token_file = {20240801, 7, TokenType::uint32};
constexpr std::size_t token_file_header_bytes = 256 * sizeof(std::int32_t);
constexpr std::int32_t token_origin_mark = 0x4E494B54;  ///< "TKIN" in the file

/// The format in which tokens below `vocabulary_size` are written: the narrowest that holds them.
constexpr const TokenFileFormat& token_file_format(std::int64_t vocabulary_size) {
  return vocabulary_size <= 65536 ? narrow_token_file : wide_token_file;
}

/// The tokens of one file, mapped into memory.
///
/// What a path means is told by, in this order:
/// - a name that ends in `.idx`, or one without a file of its own but with NAME.idx beside it: a
/// dataset of Megatron-LM
///   in NAME.bin and NAME.idx (token_index.hpp);
/// - the magic number: a header and tokens of 16 or 32 bits;
/// - a name that ends in `.bin` with an `.idx` beside it: a dataset of Megatron-LM;
/// - a name that ends in `.bin`: 16-bit tokens without header, of a vocabulary that fits 16 bits;
/// - else text: each byte is a token, of a vocabulary of bytes.
class TokenFile {
 public:
  /// A file that cannot be read or contradicts its header or index throws `Error` (exit code 2).
  TokenFile(const std::string& path, const std::string& where);

  /// Path of the file with the tokens: NAME.bin of a dataset of Megatron-LM.
  const std::string& path() const { return file_.path(); }
  /// Number of tokens.
  std::int64_t size() const { return size_; }
  /// Copies tokens [begin, begin + count) to `out`. A file that was written since it was opened,
  /// and a token outside the vocabulary that was checked, which it then has got, throw `Error`
  /// (exit code 4).
  void copy(std::int64_t begin, std::int64_t count, std::uint32_t* out) const;
  /// Digest of what made the tokens (`tokenizer_digest`), that of bytes for text; 0 where the file
  /// does not say.
  std::uint64_t tokenizer() const { return tokenizer_; }
  /// Refuses a file that nothing says to hold such tokens, as text for a vocabulary that is not of
  /// bytes, and a token outside [0, vocabulary_size): file, position and value. Reads the whole
  /// file where its type holds such tokens.
  void check_vocabulary(std::int64_t vocabulary_size, const std::string& where);

  /// Whether an index says where documents begin.
  bool knows_documents() const { return index_.has_value(); }
  /// The tokens in [begin, end) with which documents begin: those of the index, or the file's first
  /// one alone.
  std::vector<std::int64_t> document_starts(std::int64_t begin, std::int64_t end) const;

 private:
  bool has_header() const;
  void read_header(const std::string& where);
  void read_index(const std::string& path, const std::string& where);
  void read_origin();
  void read_bare(const std::string& where);
  void check_bare(std::int64_t vocabulary_size, const std::string& where) const;
  const std::byte* data() const { return file_.bytes().data() + offset_; }

  FileStamp stamp_;
  MappedFile file_;
  std::optional<TokenIndex> index_;
  std::int64_t vocabulary_size_ = no_stored_token;  // that tokens were found to be below
  std::size_t offset_ = 0;                          // bytes before the first token
  TokenType type_ = TokenType::uint8;
  bool is_bare_ = false;  // there is neither a header nor an index
  std::uint64_t tokenizer_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace pptrain
