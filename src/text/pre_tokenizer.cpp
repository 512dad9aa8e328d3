#include "text/pre_tokenizer.hpp"

#include "text/byte_alphabet.hpp"
#include "text/growth.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

/// Applies a step to one piece after the other.
struct CutPieces {
  const std::vector<TextPiece>& in;
  TextPieces& out;
  const GrowthLimit& limit;
  MatchMemory& memory;

  void operator()(const SplitRule& rule) const {
    for (const TextPiece& piece : in) cut(rule, piece);
  }

  void operator()(const MetaspaceRule& rule) const {
    for (const TextPiece& piece : in) {
      const TextPiece marked = {changed(with_marks(rule, piece)), piece.first};
      if (rule.splits) {
        cut(rule.split, marked);
      } else {
        out.pieces.push_back(marked);
      }
    }
  }

  void operator()(PrefixSpace) const {
    for (const TextPiece& piece : in) {
      const bool has = piece.text.starts_with(' ');
      out.pieces.push_back(has ? piece
                               : TextPiece{changed(" " + std::string(piece.text)), piece.first});
    }
  }

  void operator()(ByteCharacters) const {
    for (const TextPiece& piece : in) {
      std::string text;
      for (const char c : piece.text)
        append_utf8(text, character_of_byte(static_cast<unsigned char>(c)));
      out.pieces.push_back({changed(std::move(text)), piece.first});
    }
  }

 private:
  /// Keeps the text of a piece as long as the pieces.
  std::string_view changed(std::string text) const {
    limit.check(out.changed_bytes += text.size());
    return out.changed.emplace_back(std::move(text));
  }

  void cut(const SplitRule& rule, const TextPiece& piece) const {
    for (const TextRange& range : split(rule, piece.text, memory)) {
      out.pieces.push_back({piece.text.substr(range.begin, range.end - range.begin),
                            piece.first && range.begin == 0});
    }
  }

  static std::string with_marks(const MetaspaceRule& rule, const TextPiece& piece) {
    std::string text;
    text.reserve(piece.text.size() + rule.mark.size());
    for (const char c : piece.text) {
      if (c == ' ') {
        text += rule.mark;
      } else {
        text += c;
      }
    }
    const bool wanted = rule.prepend == PrependScheme::always ||
                        (rule.prepend == PrependScheme::first && piece.first);
    if (wanted && !text.starts_with(rule.mark)) text.insert(0, rule.mark);
    return text;
  }
};

}  // namespace

TextPieces PreTokenizer::pieces(std::string_view text, bool first, MatchMemory& memory) const {
  TextPieces result;
  if (text.empty()) return result;
  result.pieces = {{text, first}};
  for (const PlacedStep& placed : steps_) {
    const std::vector<TextPiece> before = std::move(result.pieces);
    result.pieces.clear();
    std::visit(CutPieces{before, result, GrowthLimit(text.size(), placed.where), memory},
               placed.step);
  }
  return result;
}

}  // namespace pptrain
