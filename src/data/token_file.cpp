#include "data/token_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "data/check_text.hpp"
#include "data/token_origin.hpp"

namespace pptrain {
namespace {

std::int32_t header_word(std::span<const std::byte> bytes, std::size_t index) {
  std::int32_t word = 0;
  if (bytes.size() >= (index + 1) * sizeof word)
    std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
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

TokenFile::TokenFile(const std::string& path, const std::string& where)
    : stamp_(tokens_of_path(path)), file_(tokens_of_path(path), where) {
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
  is_bare_ = true;
  const bool is_text = !path().ends_with(".bin");
  if (is_text) check_text(file_, where);
  if (is_text) tokenizer_ = byte_tokens_digest();
  type_ = is_text ? TokenType::uint8 : TokenType::uint16;
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
  const std::int64_t wanted = static_cast<std::int64_t>(token_file_header_bytes) +
                              static_cast<std::int64_t>(bytes_of(format.type)) * size_;
  if (size_ < 0 || static_cast<std::int64_t>(bytes.size()) != wanted) {
    throw_bad_input({where, fmt::format("{} is torn", path()),
                     fmt::format("its header promises {} tokens, {} bytes in all, and it has {}",
                                 size_, wanted, bytes.size()),
                     "tokenize the text again"});
  }
  offset_ = token_file_header_bytes;
  type_ = format.type;
  read_origin();
}

void TokenFile::read_origin() {
  const std::span<const std::byte> bytes = file_.bytes();
  if (header_word(bytes, 3) != token_origin_mark) return;
  const auto half = [&](std::size_t word) {
    return std::uint64_t{static_cast<std::uint32_t>(header_word(bytes, word))};
  };
  tokenizer_ = half(4) | half(5) << 32U;
}

void TokenFile::read_index(const std::string& index, const std::string& where) {
  index_.emplace(index, where);
  type_ = index_->type();
  size_ = index_->num_tokens();
  const std::int64_t wanted = size_ * static_cast<std::int64_t>(bytes_of(type_));
  if (static_cast<std::int64_t>(file_.bytes().size()) == wanted) return;
  throw_bad_input(
      {where, fmt::format("{} does not belong to {}", path(), index),
       fmt::format("the index promises {} tokens, {} bytes in all, and the file has {}", size_,
                   wanted, file_.bytes().size()),
       "copy both files of the dataset again; an index of something else has to lie elsewhere"});
}

std::vector<std::int64_t> TokenFile::document_starts(std::int64_t begin, std::int64_t end) const {
  if (index_) return index_->document_starts(begin, end);
  return begin <= 0 && 0 < end ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>();
}

void TokenFile::copy(std::int64_t begin, std::int64_t count, std::uint32_t* out) const {
  PPTRAIN_ASSERT(0 <= begin && 0 <= count && begin + count <= size_, "[{}, +{}) of {} tokens",
                 begin, count, size_);
  stamp_.check_unchanged();  // where the file has become shorter, its pages are gone
  widen_tokens(type_, data() + static_cast<std::size_t>(begin) * bytes_of(type_), count, out);
  stamp_.check_unchanged();
  const std::uint32_t *const first = out, *const end = out + count;
  const auto* const foreign =
      std::find_if(first, end, [this](std::uint32_t t) { return t >= vocabulary_size_; });
  if (foreign == end) return;
  throw_runtime_failure({path(),
                         fmt::format("token {} at position {} is outside the vocabulary now",
                                     *foreign, begin + (foreign - first)),
                         fmt::format("all were below {} when the job began", vocabulary_size_),
                         "leave the file as it is while the job runs"});
}

/// Without header and index the name alone says what the bytes are.
void TokenFile::check_bare(std::int64_t vocabulary_size, const std::string& where) const {
  const char* const remedy =
      "write tokens with a header by `pptrain tokenize --tokenizer FOLDER`, with the model's "
      "tokenizer";
  if (type_ == TokenType::uint8 && !is_byte_vocabulary(vocabulary_size)) {
    throw_bad_input(
        {where, fmt::format("{} holds no tokens of a vocabulary of {}", path(), vocabulary_size),
         "a file that is no token file is read byte by byte, for a vocabulary_size of 256, or 257",
         remedy});
  }
  if (type_ == TokenType::uint16 && vocabulary_size > std::int64_t{1} << 16) {
    throw_bad_input(
        {where,
         fmt::format("{} may not hold tokens of a vocabulary of {}", path(), vocabulary_size),
         "it has no header, so that its tokens have 16 bits, which end at 65535", remedy});
  }
}

void TokenFile::check_vocabulary(std::int64_t vocabulary_size, const std::string& where) {
  if (is_bare_) check_bare(vocabulary_size, where);
  vocabulary_size_ = vocabulary_size;
  if (holds_only_tokens(type_, vocabulary_size)) return;
  const ForeignToken foreign = first_foreign_token(type_, data(), size_, vocabulary_size);
  if (foreign.position == size_) return;
  throw_bad_input(
      {where,
       fmt::format("{}: token {} at position {} is outside the vocabulary", path(), foreign.value,
                   foreign.position),
       fmt::format("vocabulary_size = {} admits 0 to {}", vocabulary_size, vocabulary_size - 1),
       "set vocabulary_size to that of the tokenizer"});
}

}  // namespace pptrain
