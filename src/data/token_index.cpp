#include "data/token_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.hpp"

namespace pptrain {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view index_magic = "MMIDIDX\0\0"sv;
constexpr std::int64_t version_at = 9;
constexpr std::int64_t code_at = 17;
constexpr std::int64_t num_sequences_at = 18;
constexpr std::int64_t num_entries_at = 26;
constexpr std::int64_t index_header_bytes = 34;

}  // namespace

bool names_index(const std::string& path) { return path.ends_with(".idx"); }

TokenIndex::TokenIndex(const std::string& path, const std::string& where)
    : stamp_(path), file_(path, where) {
  read_header(where);
  check_sequences(where);
  check_documents(where);
}

void TokenIndex::refuse(const std::string& where, const std::string& problem,
                        const std::string& reason) const {
  throw_bad_input({where, fmt::format("{} {}", path(), problem), reason,
                   "write the dataset again with Megatron-LM's tools, or name a file of tokens "
                   "without an index"});
}

/// Entries are not aligned: the header has 34 bytes.
template <class T>
T TokenIndex::entry(std::int64_t table, std::int64_t index) const {
  T value = 0;
  std::memcpy(&value,
              file_.bytes().data() + table + index * static_cast<std::int64_t>(sizeof value),
              sizeof value);
  return value;
}

void TokenIndex::read_header(const std::string& where) {
  const auto size = static_cast<std::int64_t>(file_.bytes().size());
  const std::string_view start(reinterpret_cast<const char*>(file_.bytes().data()),
                               std::min(file_.bytes().size(), index_magic.size()));
  if (start != index_magic)
    refuse(where, "is no index of Megatron-LM", "it does not begin with MMIDIDX");
  if (size < index_header_bytes) {
    refuse(where, "is torn",
           fmt::format("its header has {} bytes, and the file {}", index_header_bytes, size));
  }
  const auto version = entry<std::uint64_t>(version_at, 0);
  if (version != 1) refuse(where, fmt::format("has version {}", version), "version 1 is known");
  read_type(where);
  read_sizes(where);
}

/// Sizes that would not make the bytes of the file are refused before anything is read by them.
void TokenIndex::read_sizes(const std::string& where) {
  const std::uint64_t size = file_.bytes().size();
  const auto sequences = entry<std::uint64_t>(num_sequences_at, 0);
  const auto entries = entry<std::uint64_t>(num_entries_at, 0);
  // Numbers above the file's size would overflow the sum.
  const bool fits = sequences <= size && entries <= size;
  if (!fits ||
      static_cast<std::uint64_t>(index_header_bytes) + 12 * sequences + 8 * entries != size) {
    refuse(where, "is torn",
           fmt::format("its header promises {} sequences and {} document entries, which does not "
                       "make its {} bytes",
                       sequences, entries, size));
  }
  num_sequences_ = static_cast<std::int64_t>(sequences);
  num_entries_ = static_cast<std::int64_t>(entries);
  lengths_ = index_header_bytes;
  offsets_ = lengths_ + 4 * num_sequences_;
  documents_ = offsets_ + 8 * num_sequences_;
}

void TokenIndex::read_type(const std::string& where) {
  const int code = entry<std::uint8_t>(code_at, 0);
  switch (code) {
    case 1: type_ = TokenType::uint8; return;
    case 2: type_ = TokenType::int8; return;
    case 3: type_ = TokenType::int16; return;
    case 4: type_ = TokenType::int32; return;
    case 5: type_ = TokenType::int64; return;
    case 8: type_ = TokenType::uint16; return;
    default: break;
  }
  const bool is_real = code == 6 || code == 7;
  refuse(where, fmt::format("stores tokens as type {}", code),
         is_real ? "that are floating-point numbers, and tokens are integers"
                 : "known are 1 to 5 and 8");
}

void TokenIndex::check_sequences(const std::string& where) {
  const auto width = static_cast<std::int64_t>(bytes_of(type_));
  for (std::int64_t s = 0; s < num_sequences_; ++s) {
    const auto length = entry<std::int32_t>(lengths_, s);
    if (length < 0)
      refuse(where, fmt::format("gives sequence {} {} tokens", s, length),
             "a length is at least 0");
    const auto offset = entry<std::int64_t>(offsets_, s);
    if (offset != num_tokens_ * width) {
      refuse(where, fmt::format("begins sequence {} at byte {}", s, offset),
             fmt::format("the sequences before it end at byte {}", num_tokens_ * width));
    }
    num_tokens_ += length;
  }
}

void TokenIndex::check_documents(const std::string& where) const {
  if (num_entries_ == 0 || entry<std::int64_t>(documents_, 0) != 0) {
    refuse(where, "has no document that begins with sequence 0", "the first document does");
  }
  for (std::int64_t d = 1; d < num_entries_; ++d) {
    const auto before = entry<std::int64_t>(documents_, d - 1);
    const auto here = entry<std::int64_t>(documents_, d);
    if (here < before) {
      refuse(where, fmt::format("begins document {} with sequence {}", d, here),
             fmt::format("the document before it begins with sequence {}", before));
    }
  }
  const auto last = entry<std::int64_t>(documents_, num_entries_ - 1);
  if (last != num_sequences_) {
    refuse(where, fmt::format("ends the last document at sequence {}", last),
           fmt::format("there are {} sequences", num_sequences_));
  }
}

/// The first token of a document, or of what follows the last one.
std::int64_t TokenIndex::first_token(std::int64_t document) const {
  const auto sequence = entry<std::int64_t>(documents_, document);
  if (sequence == num_sequences_) return num_tokens_;
  return entry<std::int64_t>(offsets_, sequence) / static_cast<std::int64_t>(bytes_of(type_));
}

std::vector<std::int64_t> TokenIndex::document_starts(std::int64_t begin, std::int64_t end) const {
  std::int64_t low = 0;  // the first document that begins at `begin` or behind it
  for (std::int64_t high = num_documents(); low < high;) {
    const std::int64_t middle = low + (high - low) / 2;
    if (first_token(middle) < begin) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::vector<std::int64_t> starts;
  for (std::int64_t d = low; d < num_documents() && first_token(d) < end; ++d) {
    if (starts.empty() || starts.back() != first_token(d)) starts.push_back(first_token(d));
  }
  stamp_.check_unchanged();
  return starts;
}

}  // namespace pptrain
