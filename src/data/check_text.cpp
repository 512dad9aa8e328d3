#include "data/check_text.hpp"

#include <cstddef>

#include "base/error.hpp"

namespace pptrain {

void check_text(const MappedFile& file, const std::string& where) {
  if (file.bytes().size() < 2) return;
  const auto first = std::to_integer<int>(file.bytes()[0]);
  const auto second = std::to_integer<int>(file.bytes()[1]);
  const bool is_utf16 = (first == 0xFF && second == 0xFE) || (first == 0xFE && second == 0xFF);
  if (!is_utf16) return;
  throw_bad_input({where, file.path() + " is text in UTF-16", "its bytes are no characters",
                   "save it as UTF-8, for instance by `iconv -f UTF-16 -t UTF-8`"});
}

}  // namespace pptrain
