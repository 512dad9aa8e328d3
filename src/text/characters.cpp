#include "text/characters.hpp"

#include <utf8proc.h>

namespace pptrain {
namespace {

bool is_mark(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

}  // namespace

std::string lowered(const std::string& text) {
  return changed_characters(text, [](std::string& out, char32_t c) {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    if (c == 0x130) append_utf8(out, 0x307);  // the one letter whose small form are two characters
  });
}

std::string without_marks(const std::string& text) {
  return changed_characters(text, [](std::string& out, char32_t c) {
    if (!is_mark(c)) append_utf8(out, c);
  });
}

}  // namespace pptrain
