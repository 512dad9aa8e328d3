#include "data/token_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {

TokenStream::TokenStream(const std::vector<std::string>& paths, std::int64_t vocabulary_size,
                         std::optional<std::int64_t> end_of_document, const std::string& where)
    : end_of_document_(end_of_document) {
  if (paths.empty()) {
    throw_bad_input({where, "there is no data to read", "[data] names no file",
                     "write train = \"FILE\" with a text file or tokens of `pptrain tokenize`"});
  }
  for (const std::string& path : paths) {
    files_.emplace_back(path, where);
    files_.back().check_vocabulary(vocabulary_size, where);
    first_token_.push_back(first_token_.back() + files_.back().size());
  }
}

void TokenStream::copy(std::int64_t begin, std::int64_t count, std::uint32_t* out) const {
  auto file =
      std::upper_bound(first_token_.begin(), first_token_.end(), begin) - first_token_.begin() - 1;
  while (count > 0) {
    const auto i = static_cast<std::size_t>(file++);
    const std::int64_t part = std::min(count, first_token_[i + 1] - begin);
    files_[i].copy(begin - first_token_[i], part, out);
    begin += part;
    out += part;
    count -= part;
  }
}

std::vector<TokenOrigin> TokenStream::origins(const std::string& where) const {
  std::vector<TokenOrigin> origins;
  for (const TokenFile& file : files_) origins.push_back({file.path(), file.tokenizer(), where});
  return origins;
}

void TokenStream::check_documents(const std::string& where) const {
  if (end_of_document_) return;
  for (const TokenFile& file : files_) {
    if (file.knows_documents()) continue;
    throw_bad_input({where, fmt::format("nothing says where documents of {} end", file.path()),
                     "attend_across_documents = false keeps attention within documents",
                     "write end_of_document = ID in [data], name files with an .idx, or leave "
                     "attend_across_documents"});
  }
}

/// For each of the tokens from `begin` on, whether it begins a file, or a document by its index.
std::vector<char> TokenStream::starts_in_files(std::int64_t begin, std::int64_t count) const {
  std::vector<char> starts(static_cast<std::size_t>(count), 0);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::int64_t first = std::max(begin, first_token_[i]);
    const std::int64_t end = std::min(begin + count, first_token_[i + 1]);
    if (first >= end) continue;
    for (const std::int64_t start :
         files_[i].document_starts(first - first_token_[i], end - first_token_[i]))
      starts[static_cast<std::size_t>(first_token_[i] + start - begin)] = 1;
  }
  return starts;
}

void TokenStream::document_begins(std::int64_t begin, std::int64_t count, std::int32_t* out) const {
  const std::vector<char> starts = starts_in_files(begin, count);
  std::vector<std::uint32_t> tokens(end_of_document_ ? static_cast<std::size_t>(count) : 0);
  if (end_of_document_) copy(begin, count, tokens.data());
  std::int32_t first = 0;
  for (std::size_t t = 0; t < starts.size(); ++t) {
    const bool is_behind_end = t > 0 && end_of_document_ && tokens[t - 1] == *end_of_document_;
    if (starts[t] != 0 || is_behind_end) first = static_cast<std::int32_t>(t);
    out[t] = first;
  }
}

}  // namespace pptrain
