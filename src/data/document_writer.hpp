#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "data/token_writer.hpp"

namespace pptrain {

/// Writes tokens that come in documents, and their index where the layout has one. Tokens have 16
/// bits where the vocabulary allows, else 32.
class DocumentWriter {
 public:
  /// `path` ends in .bin where the layout is `indexed`, which has no place for the tokenizer's
  /// digest. What cannot be written throws `Error` (exit code 2 or 4).
  DocumentWriter(const std::string& path, std::int64_t vocabulary_size, std::uint64_t tokenizer,
                 TokenLayout layout);

  /// Appends tokens to the present document.
  void append(std::span<const std::uint32_t> tokens) { tokens_.append(tokens); }
  /// Ends the present document, where it has tokens.
  void end_document();
  /// Puts the files in their places.
  void commit();

  /// Tokens that were appended so far.
  std::int64_t num_tokens() const { return tokens_.num_tokens(); }
  /// Documents that were ended so far, empty ones left out.
  std::int64_t num_documents() const { return static_cast<std::int64_t>(lengths_.size()); }
  /// Bytes of each token in the file: 2 or 4.
  std::size_t token_bytes() const { return tokens_.token_bytes(); }
  /// The path of the index; "" where the layout has none.
  const std::string& index_path() const { return index_path_; }

 private:
  void write_index();

  std::string path_;
  std::string index_path_;
  TokenWriter tokens_;
  std::optional<AtomicFile> index_;
  std::vector<std::int64_t> lengths_;  ///< tokens of each document
  std::int64_t document_begin_ = 0;    ///< number of the present document's first token
};

}  // namespace pptrain
