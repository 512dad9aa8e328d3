#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/token_file.hpp"
#include "data/token_origin.hpp"

namespace pptrain {

/// The tokens of several files one behind the other, and the documents that they are.
///
/// A document begins with each file, where the index of a file says so, and behind each token that
/// ends one.
class TokenStream {
 public:
  /// Opens and checks the files: none, one that is missing, empty or unreadable, or a token outside
  /// the vocabulary throw `Error` (exit code 2) with `where` as the place.
  TokenStream(const std::vector<std::string>& paths, std::int64_t vocabulary_size,
              std::optional<std::int64_t> end_of_document, const std::string& where);

  /// Tokens of all files together.
  std::int64_t num_tokens() const { return first_token_.back(); }
  /// Copies tokens [begin, begin + count) to `out`.
  void copy(std::int64_t begin, std::int64_t count, std::uint32_t* out) const;

  /// The files and what made them; `where` is the place that names them.
  std::vector<TokenOrigin> origins(const std::string& where) const;
  /// Refuses files of which nothing says where documents end.
  void check_documents(const std::string& where) const;
  /// For tokens [begin, begin + count) the first one of the same document, counted from `begin`; 0
  /// where it lies before.
  void document_begins(std::int64_t begin, std::int64_t count, std::int32_t* out) const;

 private:
  std::vector<char> starts_in_files(std::int64_t begin, std::int64_t count) const;

  std::optional<std::int64_t> end_of_document_;
  std::vector<TokenFile> files_;
  std::vector<std::int64_t> first_token_ = {0};  // of each file, then the number of tokens
};

}  // namespace pptrain
