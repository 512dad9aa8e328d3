#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pptrain {

/// The table by which SentencePiece replaces characters before it cuts a text (`precompiled_charsmap`): a trie as a
/// double array (Yata et al., "A compact static double-array keeping character codes", 2007; the darts-clone library)
/// and the texts that its keys become.
class CharacterMap {
 public:
  /// `bytes`: the size of the trie in bytes (uint32, little-endian), the trie (uint32 units), the texts, each with a
  /// zero byte behind it. Returns false, and leaves the map empty, where they are no such table.
  bool read(std::string_view bytes);

  /// The text, which is UTF-8, with characters replaced. Of each grapheme below six bytes the shortest key that it
  /// begins with stands for all of it; where none does, and for longer ones, each character is looked up by itself: so
  /// Hugging Face's library does it.
  std::string normalized(std::string_view text) const;

 private:
  /// Appends what stands for a text, if anything does.
  bool append(std::string_view text, std::string& out) const;
  void append_grapheme(std::string_view grapheme, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

/// The bytes that a text of letters, digits, '+' and '/' stands for (RFC 4648, base 64); "" where it is none.
std::string from_base64(std::string_view text);

}  // namespace pptrain
