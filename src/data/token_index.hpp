#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_stamp.hpp"
#include "base/mapped_file.hpp"
#include "data/token_type.hpp"

namespace pptrain {

/// The index (.idx) of a dataset as Megatron-LM's preprocessing writes it: how tokens are stored in
/// the file beside it (.bin), how long the sequences there are, and which of them begin documents.
///
/// Little-endian: the bytes `MMIDIDX\0\0`, uint64 version 1, uint8 code of the type, uint64 number
/// of sequences S, uint64 number of document entries D; int32 tokens of each sequence (S), int64
/// its first byte (S), int64 first sequence of each document (D), of which the last entry is S.
/// Sequences follow each other without gaps.
class TokenIndex {
 public:
  /// Maps and checks the file. One that cannot be read, is no index, or has entries that contradict
  /// each other throws `Error` (exit code 2) with `where` as the place.
  TokenIndex(const std::string& path, const std::string& where);

  /// Path of the index, not of the tokens.
  const std::string& path() const { return file_.path(); }
  /// How each token is stored in the file of tokens.
  TokenType type() const { return type_; }
  /// Tokens of all sequences together.
  std::int64_t num_tokens() const { return num_tokens_; }
  /// Documents, empty ones included.
  std::int64_t num_documents() const { return num_entries_ - 1; }
  /// The tokens in [begin, end) with which documents begin, in order; an empty document has none. A
  /// file that was written since it was opened throws `Error` (exit code 4).
  std::vector<std::int64_t> document_starts(std::int64_t begin, std::int64_t end) const;

 private:
  template <class T>
  T entry(std::int64_t table, std::int64_t index) const;
  void read_header(const std::string& where);
  void read_type(const std::string& where);
  void read_sizes(const std::string& where);
  void check_sequences(const std::string& where);
  void check_documents(const std::string& where) const;
  std::int64_t first_token(std::int64_t document) const;
  [[noreturn]] void refuse(const std::string& where, const std::string& problem,
                           const std::string& reason) const;

  FileStamp stamp_;
  MappedFile file_;
  TokenType type_ = TokenType::uint16;
  std::int64_t num_sequences_ = 0;
  std::int64_t num_entries_ = 0;  // of documents, one more than there are
  std::int64_t num_tokens_ = 0;
  std::int64_t lengths_ = 0;  // where the tables begin, in bytes
  std::int64_t offsets_ = 0;
  std::int64_t documents_ = 0;
};

/// Whether the name is that of an index.
bool names_index(const std::string& path);

}  // namespace pptrain
