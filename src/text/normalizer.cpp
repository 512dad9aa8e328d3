#include "text/normalizer.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.hpp"
#include "text/characters.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

struct FreeText {
  void operator()(utf8proc_uint8_t* text) const { std::free(text); }
};

/// The least lead byte of characters that a form may change. Composed characters below U+0300 (CC
/// 80) stay as they are in NFC unless a mark follows, and all marks are above; the other forms
/// change some of Latin-1.
unsigned first_affected_byte(UnicodeForm form) { return form == UnicodeForm::nfc ? 0xCC : 0x80; }

utf8proc_option_t options_of(UnicodeForm form) {
  switch (form) {
    case UnicodeForm::nfc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    case UnicodeForm::nfd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    case UnicodeForm::nfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case UnicodeForm::nfkd: break;
  }
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
}

std::string stripped(const StripText& step, std::string_view text) {
  while (step.right && !text.empty()) {
    const CodePoint last = code_point_before(text, text.size());
    if (!is_white_space(last.value)) break;
    text.remove_suffix(last.size);
  }
  while (step.left && !text.empty()) {
    const CodePoint first = code_point_at(text, 0);
    if (!is_white_space(first.value)) break;
    text.remove_prefix(first.size);
  }
  return std::string(text);
}

struct ApplyStep {
  std::string& text;
  const GrowthLimit& limit;
  MatchMemory& memory;

  void operator()(UnicodeForm form) const { text = in_form(form, std::move(text)); }
  void operator()(const PrependText& step) const {
    if (!text.empty()) text.insert(0, step.text);
  }
  void operator()(const ReplaceText& step) const {
    text = replaced_matches(step, text, limit, memory);
  }
  void operator()(const StripText& step) const { text = stripped(step, text); }
  void operator()(StripMarks) const { text = without_marks(text); }
  void operator()(LowerText) const { text = lowered(text); }
  void operator()(const CharacterMap& step) const { text = step.normalized(text, limit); }
  void operator()(const BertText& step) const { text = step.normalized(text); }
};

}  // namespace

std::string in_form(UnicodeForm form, std::string text) {
  const unsigned least = first_affected_byte(form);
  const auto affected = [least](char c) { return static_cast<unsigned char>(c) >= least; };
  if (std::none_of(text.begin(), text.end(), affected)) return text;
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &result, options_of(form));
  const std::unique_ptr<utf8proc_uint8_t, FreeText> owner(result);
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  PPTRAIN_ASSERT(size >= 0, "utf8proc: {}", utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(size)};
}

std::string replaced_matches(const ReplaceText& rule, const std::string& text,
                             const GrowthLimit& limit, MatchMemory& memory) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::optional<TextRange> found = rule.pattern.find(text, from, memory);
    if (!found) break;
    out.append(text, done, found->begin - done);
    limit.check(out.size() + rule.text.size());
    out += rule.text;
    done = found->end;
    const bool empty = found->begin == found->end;
    from = empty && done < text.size() ? done + code_point_at(text, done).size : done;
    if (empty && done == text.size()) break;
  }
  return out.append(text, done);
}

std::string Normalizer::normalized(std::string text, MatchMemory& memory) const {
  const std::size_t before = text.size();
  for (const PlacedStep& placed : steps_) {
    const GrowthLimit limit(before, placed.where);
    std::visit(ApplyStep{text, limit, memory}, placed.step);
    limit.check(text.size());
  }
  return text;
}

}  // namespace pptrain
