#include "text/utf8.hpp"

namespace pptrain {
namespace {

/// The bytes of one character, or of what is there of one that is wrong.
struct ByteSequence {
  std::size_t size = 1;
  bool valid = false;
};

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

/// How many bytes a character has that begins with this one; 0 where none does.
std::size_t length_by_first(unsigned first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;  // a continuation, or overlong
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

/// Table 3-7 of the Unicode standard: only the second byte has limits that depend on the first.
ByteSequence sequence_at(std::string_view bytes, std::size_t at) {
  const unsigned first = byte_at(bytes, at);
  const std::size_t length = length_by_first(first);
  if (length == 0) return {};
  unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned byte = byte_at(bytes, at + i);
    if (byte < low || byte > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

/// The end of the valid text that begins at `begin`.
std::size_t end_of_valid(std::string_view bytes, std::size_t begin) {
  std::size_t at = begin;
  while (at < bytes.size()) {
    if (byte_at(bytes, at) < 0x80) {
      ++at;
      continue;
    }
    const ByteSequence sequence = sequence_at(bytes, at);
    if (!sequence.valid) return at;
    at += sequence.size;
  }
  return at;
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  const std::size_t size = length_by_first(first);
  if (size <= 1 || size > text.size() - at) return {first, 1};
  char32_t value = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) value = (value << 6U) | (byte_at(text, at + i) & 0x3FU);
  return {value, size};
}

CodePoint code_point_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (byte_at(text, at) & 0xC0U) == 0x80U) --at;
  return code_point_at(text, at);
}

void append_utf8(std::string& text, char32_t character) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0U | (character >> 6U));
    put(0x80U | (character & 0x3FU));
  } else if (character < 0x10000) {
    put(0xE0U | (character >> 12U));
    put(0x80U | ((character >> 6U) & 0x3FU));
    put(0x80U | (character & 0x3FU));
  } else {
    put(0xF0U | (character >> 18U));
    put(0x80U | ((character >> 12U) & 0x3FU));
    put(0x80U | ((character >> 6U) & 0x3FU));
    put(0x80U | (character & 0x3FU));
  }
}

bool is_utf8(std::string_view bytes) { return end_of_valid(bytes, 0) == bytes.size(); }

RepairedText repaired_utf8(std::string_view bytes) {
  RepairedText repaired;
  repaired.text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = end_of_valid(bytes, at);
    repaired.text.append(bytes.substr(at, end - at));
    if (end == bytes.size()) break;
    append_utf8(repaired.text, 0xFFFD);
    ++repaired.replaced;
    at = end + sequence_at(bytes, end).size;
  }
  return repaired;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace pptrain
