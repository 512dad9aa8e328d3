#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/growth.hpp"

namespace pptrain {

/// The table by which SentencePiece replaces characters before it cuts a text
/// (`precompiled_charsmap`): a trie as a double array (Yata et al., "A compact static double-array
/// keeping character codes", 2007; the darts-clone library) and the texts that its keys become.
class CharacterMap {
 public:
  /// `bytes`: the size of the trie in bytes (uint32, little-endian), the trie (uint32 units), the
  /// texts, each with a zero byte behind it. Returns what is wrong, and leaves the map empty, where
  /// they are no such table or the trie leads to what is no text in UTF-8; "" where nothing is.
  std::string read(std::string_view bytes);

  /// The text, which is UTF-8, with characters replaced. Of each grapheme below six bytes the
  /// shortest key that it begins with stands for all of it; where none does, and for longer ones,
  /// each character is looked up by itself: so Hugging Face's library does it. Throws `Error` (exit
  /// code 2) where the result is beyond `limit`.
  std::string normalized(std::string_view text, const GrowthLimit& limit) const;

 private:
  /// Whether each key leads to the beginning of a character in the texts, or to their end.
  bool leads_to_texts() const;
  bool begins_character(std::size_t place) const;
  /// Appends what stands for a text, if anything does.
  bool append(std::string_view text, std::string& out) const;
  void append_grapheme(std::string_view grapheme, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

/// The bytes that a text of letters, digits, '+' and '/' stands for (RFC 4648, base 64); "" where
/// it is none.
std::string from_base64(std::string_view text);

}  // namespace pptrain
