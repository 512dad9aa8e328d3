#include "data/token_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "data/check_text.hpp"

namespace pptrain {
namespace {

std::int32_t header_word(std::span<const std::byte> bytes, std::size_t index) {
  std::int32_t word = 0;
  if (bytes.size() >= (index + 1) * sizeof word) std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// NAME of NAME.bin, NAME.idx; "" where the path means no such pair.
std::string pair_name(const std::string& path) {
  if (names_index(path)) return path.substr(0, path.size() - 4);
  return !is_there(path) && is_there(path + ".idx") ? path : "";
}

std::string tokens_of_path(const std::string& path) {
  const std::string pair = pair_name(path);
  return pair.empty() ? path : pair + ".bin";
}

}  // namespace

TokenFile::TokenFile(const std::string& path, const std::string& where) : file_(tokens_of_path(path), where) {
  const std::string pair = pair_name(path);
  const std::string beside = path.ends_with(".bin") ? path.substr(0, path.size() - 4) + ".idx" : "";
  if (!pair.empty()) {
    read_index(pair + ".idx", where);
  } else if (has_header()) {
    read_header(where);
  } else if (!beside.empty() && is_there(beside)) {
    read_index(beside, where);
  } else {
    read_bare(where);
  }
}

void TokenFile::read_bare(const std::string& where) {
  is_text_ = !path().ends_with(".bin");
  if (is_text_) check_text(file_, where);
  type_ = is_text_ ? TokenType::uint8 : TokenType::uint16;
  const std::size_t bytes = file_.bytes().size();
  if (bytes % bytes_of(type_) != 0) {
    throw_bad_input({where, fmt::format("{} has an odd number of bytes", path()),
                     "tokens without header or index are 16 bits wide",
                     "is it a text file? Then rename it so that it does not end in .bin"});
  }
  size_ = static_cast<std::int64_t>(bytes / bytes_of(type_));
}

bool TokenFile::has_header() const {
  const std::int32_t magic = header_word(file_.bytes(), 0);
  return magic == narrow_token_file.magic || magic == wide_token_file.magic;
}

void TokenFile::read_header(const std::string& where) {
  const std::span<const std::byte> bytes = file_.bytes();
  const bool is_wide = header_word(bytes, 0) == wide_token_file.magic;
  const TokenFileFormat& format = is_wide ? wide_token_file : narrow_token_file;
  const std::int32_t version = header_word(bytes, 1);
  if (version != format.version) {
    throw_bad_input({where, fmt::format("{} has token format {}", path(), version),
                     fmt::format("format {} is known", format.version), "tokenize the text again"});
  }
  size_ = header_word(bytes, 2);
  const std::int64_t wanted =
      static_cast<std::int64_t>(token_file_header_bytes) + static_cast<std::int64_t>(bytes_of(format.type)) * size_;
  if (size_ < 0 || static_cast<std::int64_t>(bytes.size()) != wanted) {
    throw_bad_input(
        {where, fmt::format("{} is torn", path()),
         fmt::format("its header promises {} tokens, {} bytes in all, and it has {}", size_, wanted, bytes.size()),
         "tokenize the text again"});
  }
  offset_ = token_file_header_bytes;
  type_ = format.type;
}

void TokenFile::read_index(const std::string& index, const std::string& where) {
  index_.emplace(index, where);
  type_ = index_->type();
  size_ = index_->num_tokens();
  const std::int64_t wanted = size_ * static_cast<std::int64_t>(bytes_of(type_));
  if (static_cast<std::int64_t>(file_.bytes().size()) == wanted) return;
  throw_bad_input({where, fmt::format("{} does not belong to {}", path(), index),
                   fmt::format("the index promises {} tokens, {} bytes in all, and the file has {}", size_, wanted,
                               file_.bytes().size()),
                   "copy both files of the dataset again; an index of something else has to lie elsewhere"});
}

std::vector<std::int64_t> TokenFile::document_starts(std::int64_t begin, std::int64_t end) const {
  if (index_) return index_->document_starts(begin, end);
  return begin <= 0 && 0 < end ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>();
}

void TokenFile::copy(std::int64_t begin, std::int64_t count, std::uint32_t* out) const {
  PPTRAIN_ASSERT(0 <= begin && 0 <= count && begin + count <= size_, "[{}, +{}) of {} tokens", begin, count, size_);
  widen_tokens(type_, data() + static_cast<std::size_t>(begin) * bytes_of(type_), count, out);
}

void TokenFile::check_vocabulary(std::int64_t vocabulary_size, const std::string& where) const {
  if (holds_only_tokens(type_, vocabulary_size)) return;
  const ForeignToken foreign = first_foreign_token(type_, data(), size_, vocabulary_size);
  if (foreign.position == size_) return;
  throw_bad_input(
      {where,
       fmt::format("{}: token {} at position {} is outside the vocabulary", path(), foreign.value, foreign.position),
       fmt::format("vocabulary_size = {} admits 0 to {}", vocabulary_size, vocabulary_size - 1),
       is_text_ ? "text is read as bytes: set vocabulary_size = 256, or use `pptrain tokenize`"
                : "set vocabulary_size to that of the tokenizer"});
}

}  // namespace pptrain
