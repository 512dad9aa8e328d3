#include "text/bert_text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/characters.hpp"
#include "text/normalizer.hpp"

namespace pptrain {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

/// What counts as no part of a text: controls, format characters, characters of private use.
bool is_control(char32_t c) {
  if (c == U'\t' || c == U'\n' || c == U'\r') return false;
  const utf8proc_category_t is = category(c);
  return is == UTF8PROC_CATEGORY_CC || is == UTF8PROC_CATEGORY_CF || is == UTF8PROC_CATEGORY_CO;
}

/// The blocks of Chinese characters, as BERT's authors list them.
bool is_chinese(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> blocks = {{{0x4E00, 0x9FFF},
                                                                    {0x3400, 0x4DBF},
                                                                    {0x20000, 0x2A6DF},
                                                                    {0x2A700, 0x2B73F},
                                                                    {0x2B740, 0x2B81F},
                                                                    {0x2B920, 0x2CEAF},
                                                                    {0xF900, 0xFAFF},
                                                                    {0x2F800, 0x2FA1F}}};
  return std::any_of(blocks.begin(), blocks.end(),
                     [c](const auto& b) { return b.first <= c && c <= b.second; });
}

void clean(std::string& out, char32_t c) {
  if (c == 0 || c == 0xFFFD || is_control(c)) return;
  append_utf8(out, is_white_space(c) ? U' ' : c);
}

void part_chinese(std::string& out, char32_t c) {
  if (!is_chinese(c)) return append_utf8(out, c);
  out += ' ';
  append_utf8(out, c);
  out += ' ';
}

void strip_accent(std::string& out, char32_t c) {
  if (category(c) != UTF8PROC_CATEGORY_MN) append_utf8(out, c);
}

}  // namespace

std::string BertText::normalized(const std::string& text) const {
  std::string result = cleans ? changed_characters(text, clean) : text;
  if (parts_chinese) result = changed_characters(result, part_chinese);
  if (strips_accents)
    result = changed_characters(in_form(UnicodeForm::nfd, std::move(result)), strip_accent);
  return lowers ? lowered(result) : result;
}

}  // namespace pptrain
