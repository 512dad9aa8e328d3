#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"

namespace pptrain {

/// What a file of tokens looks like.
enum class TokenLayout {
  header,   ///< 256 int32 of header, then tokens: 16-bit ones (20240520, 1) or 32-bit ones (20240801, 7)
  indexed,  ///< Megatron-LM's: tokens in .bin, lengths and documents in .idx
};

/// Writes tokens that come in documents. Tokens have 16 bits where the vocabulary allows, else 32.
class DocumentWriter {
 public:
  /// `path` ends in .bin where the layout is `indexed`. What cannot be written throws `Error` (exit code 2 or 4).
  DocumentWriter(const std::string& path, std::int64_t vocabulary_size, TokenLayout layout);

  /// Appends tokens to the present document.
  void append(std::span<const std::uint32_t> tokens);
  /// Ends the present document, where it has tokens.
  void end_document();
  /// Puts the files in their places.
  void commit();

  std::int64_t num_tokens() const { return num_tokens_; }
  std::int64_t num_documents() const { return static_cast<std::int64_t>(lengths_.size()); }
  std::size_t token_bytes() const { return wide_ ? 4 : 2; }
  /// Where the index goes; "" without one.
  const std::string& index_path() const { return index_path_; }

 private:
  void write_header();
  void write_index();

  std::string path_;
  std::string index_path_;
  bool wide_;
  AtomicFile tokens_;
  std::optional<AtomicFile> index_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::int64_t> lengths_;  ///< tokens of each document
  std::int64_t num_tokens_ = 0;
  std::int64_t document_begin_ = 0;
};

}  // namespace pptrain
