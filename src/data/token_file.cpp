#include "data/token_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "data/check_text.hpp"

namespace pptrain {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian and read as they are");

// llm.c's files for vocabularies that do not fit 16 bits.
constexpr std::int32_t wide_token_file_magic = 20240801;

std::int32_t header_word(std::span<const std::byte> bytes, std::size_t index) {
  std::int32_t word = 0;
  if (bytes.size() >= (index + 1) * sizeof word) std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

}  // namespace

TokenFile::TokenFile(const std::string& path, const std::string& where) : file_(path, where) {
  const std::int32_t magic = header_word(file_.bytes(), 0);
  if (magic == wide_token_file_magic) {
    throw_bad_input({where, path + " holds 32-bit tokens", "tokens are 16 bits wide here",
                     "tokenize the text with `pptrain tokenize`"});
  }
  if (magic == token_file_magic) {
    read_header(where);
  } else if (path.ends_with(".bin")) {
    token_bytes_ = 2;
  } else {
    check_text(file_, where);
  }
  const std::size_t bytes = file_.bytes().size() - offset_;
  if (bytes % token_bytes_ != 0) {
    throw_bad_input({where, fmt::format("{} has an odd number of bytes", path), "tokens are 16 bits wide",
                     "is it a text file? Then rename it so that it does not end in .bin"});
  }
  size_ = static_cast<std::int64_t>(bytes / token_bytes_);
}

void TokenFile::read_header(const std::string& where) {
  const std::span<const std::byte> bytes = file_.bytes();
  const std::int32_t version = header_word(bytes, 1);
  if (version != token_file_version) {
    throw_bad_input({where, fmt::format("{} has token format {}", path(), version),
                     fmt::format("format {} is known", token_file_version), "tokenize the text again"});
  }
  const auto tokens = static_cast<std::int64_t>(header_word(bytes, 2));
  const std::int64_t wanted = static_cast<std::int64_t>(token_file_header_bytes) + 2 * tokens;
  if (tokens < 0 || static_cast<std::int64_t>(bytes.size()) != wanted) {
    throw_bad_input(
        {where, fmt::format("{} is torn", path()),
         fmt::format("its header promises {} tokens, {} bytes in all, and it has {}", tokens, wanted, bytes.size()),
         "tokenize the text again"});
  }
  offset_ = token_file_header_bytes;
  token_bytes_ = 2;
}

void TokenFile::copy(std::int64_t begin, std::int64_t count, std::uint16_t* out) const {
  PPTRAIN_ASSERT(0 <= begin && 0 <= count && begin + count <= size_, "[{}, +{}) of {} tokens", begin, count, size_);
  const std::byte* from = data() + static_cast<std::size_t>(begin) * token_bytes_;
  if (token_bytes_ == 2) {
    std::memcpy(out, from, static_cast<std::size_t>(count) * 2);
  } else {
    std::transform(from, from + count, out, [](std::byte b) { return std::to_integer<std::uint16_t>(b); });
  }
}

void TokenFile::check_vocabulary(std::int64_t vocabulary_size, const std::string& where) const {
  const std::int64_t largest_possible = token_bytes_ == 2 ? 65535 : 255;
  if (vocabulary_size > largest_possible) return;
  std::array<std::uint16_t, 65536> block = {};
  for (std::int64_t begin = 0; begin < size_; begin += static_cast<std::int64_t>(block.size())) {
    const std::int64_t count = std::min<std::int64_t>(size_ - begin, block.size());
    copy(begin, count, block.data());
    const auto last = block.begin() + count;
    const auto bad = std::find_if(block.begin(), last, [&](std::uint16_t token) { return token >= vocabulary_size; });
    if (bad == last) continue;
    throw_bad_input({where,
                     fmt::format("{}: token {} at position {} is outside the vocabulary", path(), *bad,
                                 begin + (bad - block.begin())),
                     fmt::format("vocabulary_size = {} admits 0 to {}", vocabulary_size, vocabulary_size - 1),
                     token_bytes_ == 1 ? "text is read as bytes: set vocabulary_size = 256, or use `pptrain tokenize`"
                                       : "set vocabulary_size to that of the tokenizer"});
  }
}

}  // namespace pptrain
