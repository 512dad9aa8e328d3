#include "text/character_map.hpp"

#include <utf8proc.h>

#include "text/utf8.hpp"

namespace pptrain {
namespace {

constexpr std::size_t longest_grapheme = 6;  // bytes; shorter ones are looked up as a whole

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

// Units of darts-clone.
bool has_leaf(std::uint32_t unit) { return ((unit >> 8U) & 1U) == 1U; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFU; }
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10U) << ((unit & 0x200U) >> 6U); }

/// Bytes of the grapheme that begins at `text[at]` (Unicode Standard Annex 29, extended).
std::size_t grapheme_size(std::string_view text, std::size_t at) {
  utf8proc_int32_t state = 0;
  CodePoint before = code_point_at(text, at);
  std::size_t end = at + before.size;
  while (end < text.size()) {
    const CodePoint next = code_point_at(text, end);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.value),
                                         static_cast<utf8proc_int32_t>(next.value), &state))
      break;
    end += next.size;
    before = next;
  }
  return end - at;
}

}  // namespace

std::string CharacterMap::read(std::string_view bytes) {
  *this = CharacterMap();
  const std::size_t trie = bytes.size() < 4 ? 0 : little_endian(bytes, 0);
  if (trie == 0 || trie % 4 != 0 || trie > bytes.size() - 4)
    return "SentencePiece's trie and texts are expected, as base 64";
  CharacterMap map;
  for (std::size_t at = 4; at < 4 + trie; at += 4) map.units_.push_back(little_endian(bytes, at));
  map.texts_ = bytes.substr(4 + trie);
  if (!is_utf8(map.texts_)) return "its texts are no UTF-8";
  if (!map.leads_to_texts()) return "its trie leads to places where no text begins";
  *this = std::move(map);
  return "";
}

bool CharacterMap::begins_character(std::size_t place) const {
  return place == texts_.size() ||
         (place < texts_.size() && (static_cast<unsigned char>(texts_[place]) & 0xC0U) != 0x80U);
}

bool CharacterMap::leads_to_texts() const {
  std::vector<bool> seen(units_.size());
  std::vector<std::uint32_t> waiting = {0};  // nodes behind which keys go on
  while (!waiting.empty()) {
    const std::uint32_t node = waiting.back();
    waiting.pop_back();
    const std::uint32_t children = node ^ offset_of(units_[node]);
    for (std::uint32_t byte = 1; byte < 256; ++byte) {
      const std::uint32_t child = children ^ byte;
      if (child >= units_.size() || label_of(units_[child]) != byte || seen[child]) continue;
      seen[child] = true;
      const std::uint32_t leaf = child ^ offset_of(units_[child]);
      if (!has_leaf(units_[child])) {
        waiting.push_back(child);
      } else if (leaf >= units_.size() || !begins_character(value_of(units_[leaf]))) {
        return false;  // longer keys behind a leaf are never looked up
      }
    }
  }
  return true;
}

bool CharacterMap::append(std::string_view text, std::string& out) const {
  std::uint32_t place = 0;
  std::uint32_t unit = units_[place];
  place ^= offset_of(unit);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return false;
    place ^= byte;
    if (place >= units_.size()) return false;
    unit = units_[place];
    if (label_of(unit) != byte) return false;
    place ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    const std::size_t begin = value_of(units_[place]);  // both are within by `leads_to_texts`
    out.append(texts_, begin, texts_.find('\0', begin) - begin);
    return true;
  }
  return false;
}

void CharacterMap::append_grapheme(std::string_view grapheme, std::string& out) const {
  if (grapheme.size() < longest_grapheme && append(grapheme, out)) return;
  for (std::size_t at = 0; at < grapheme.size();) {
    const std::string_view character = grapheme.substr(at, code_point_at(grapheme, at).size);
    if (!append(character, out)) out += character;
    at += character.size();
  }
}

std::string CharacterMap::normalized(std::string_view text, const GrowthLimit& limit) const {
  if (units_.empty()) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view grapheme = text.substr(at, grapheme_size(text, at));
    append_grapheme(grapheme, out);
    limit.check(out.size());
    at += grapheme.size();
  }
  return out;
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return "";
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) return "";
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU));
  }
  return bytes;
}

}  // namespace pptrain
