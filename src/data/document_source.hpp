#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.hpp"
#include "text/chunk.hpp"

namespace pptrain {

/// What one thread makes tokens of at a time: a chunk of a document, or some lines of a .jsonl
/// file.
struct DocumentPart {
  std::size_t file = 0;
  TextChunk chunk;              ///< of `DocumentSource::text(file)`; bytes of lines have no context
  std::int64_t first_line = 0;  ///< of a .jsonl file, from 1
};

/// The texts of files, cut into parts at places that depend on them and the tokenizer alone.
class DocumentSource {
 public:
  /// Opens the files. One that cannot be read, is empty or is UTF-16 throws `Error` (exit code 2).
  /// `tokenizer` outlives it.
  DocumentSource(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                 std::size_t part_bytes);

  /// The next part; nothing at the end. UTF-8 that is wrong is cut as the text that takes its
  /// place.
  std::optional<DocumentPart> next();

  /// The text of a file, repaired where it is no UTF-8.
  std::string_view text(std::size_t file) const { return files_[file].text; }
  /// Path of a file, by its place in the list that was given.
  const std::string& path(std::size_t file) const { return files_[file].mapped.path(); }
  /// Whether a file has a document on each line.
  bool has_lines(std::size_t file) const { return path(file).ends_with(".jsonl"); }
  /// Bytes of all files.
  std::int64_t num_bytes() const;
  /// Tells the user of files where U+FFFD took the place of bytes that are no UTF-8.
  void warn_of_replaced_bytes() const;

 private:
  struct File {
    MappedFile mapped;
    std::string repaired = {};
    std::string_view text = {};
    std::size_t replaced = 0;
  };

  TextChunk next_lines(std::string_view text) const;

  std::vector<File> files_;
  TextEncoder encoder_;
  std::size_t part_bytes_;
  std::size_t file_ = 0;
  TextChunk chunk_;
  std::int64_t line_ = 1;
};

}  // namespace pptrain
