#include "data/token_file.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/error.hpp"

namespace pptrain {
namespace {

std::int32_t header_word(std::span<const std::byte> bytes, std::size_t index) {
  std::int32_t word = 0;
  if (bytes.size() >= (index + 1) * sizeof word) std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

}  // namespace

TokenFile::TokenFile(const std::string& path, const std::string& where) : file_(path, where) {
  const std::int32_t magic = header_word(file_.bytes(), 0);
  if (magic == narrow_token_file.magic) {
    read_header(narrow_token_file, where);
  } else if (magic == wide_token_file.magic) {
    read_header(wide_token_file, where);
  } else if (path.ends_with(".bin")) {
    type_ = TokenType::uint16;
  } else {
    is_text_ = true;
    check_text(file_, where);
  }
  const std::size_t bytes = file_.bytes().size() - offset_;
  if (bytes % bytes_of(type_) != 0) {
    throw_bad_input({where, fmt::format("{} has an odd number of bytes", path),
                     "tokens without header are 16 bits wide",
                     "is it a text file? Then rename it so that it does not end in .bin"});
  }
  size_ = static_cast<std::int64_t>(bytes / bytes_of(type_));
}

void TokenFile::read_header(const TokenFileFormat& format, const std::string& where) {
  const std::span<const std::byte> bytes = file_.bytes();
  const std::int32_t version = header_word(bytes, 1);
  if (version != format.version) {
    throw_bad_input({where, fmt::format("{} has token format {}", path(), version),
                     fmt::format("format {} is known", format.version), "tokenize the text again"});
  }
  const auto tokens = static_cast<std::int64_t>(header_word(bytes, 2));
  const std::int64_t wanted =
      static_cast<std::int64_t>(token_file_header_bytes) + static_cast<std::int64_t>(bytes_of(format.type)) * tokens;
  if (tokens < 0 || static_cast<std::int64_t>(bytes.size()) != wanted) {
    throw_bad_input(
        {where, fmt::format("{} is torn", path()),
         fmt::format("its header promises {} tokens, {} bytes in all, and it has {}", tokens, wanted, bytes.size()),
         "tokenize the text again"});
  }
  offset_ = token_file_header_bytes;
  type_ = format.type;
}

void TokenFile::copy(std::int64_t begin, std::int64_t count, std::uint32_t* out) const {
  PPTRAIN_ASSERT(0 <= begin && 0 <= count && begin + count <= size_, "[{}, +{}) of {} tokens", begin, count, size_);
  widen_tokens(type_, data() + static_cast<std::size_t>(begin) * bytes_of(type_), count, out);
}

void TokenFile::check_vocabulary(std::int64_t vocabulary_size, const std::string& where) const {
  if (vocabulary_size > largest_of(type_)) return;
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
