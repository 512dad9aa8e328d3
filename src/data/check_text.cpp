#include "data/check_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/error.hpp"

namespace pptrain {
namespace {

using namespace std::string_view_literals;

/// How a file begins that is no text, what it is then, and how it becomes one.
struct Magic {
  std::string_view bytes;
  const char* kind;
  const char* suggestion;
};

constexpr const char* unpack = "unpack it first";
constexpr const char* take_text_out =
    "write the texts in it to a .txt or .jsonl file, for `pptrain tokenize`";

constexpr Magic magics[] = {
    {"\xFF\xFE"sv, "text in UTF-16",
     "save it as UTF-8, for instance by `iconv -f UTF-16 -t UTF-8`"},
    {"\xFE\xFF"sv, "text in UTF-16",
     "save it as UTF-8, for instance by `iconv -f UTF-16 -t UTF-8`"},
    {"\x1F\x8B"sv, "compressed by gzip", unpack},
    {"\x28\xB5\x2F\xFD"sv, "compressed by zstd", unpack},
    {"\xFD"
     "7zXZ\0"sv,
     "compressed by xz", unpack},
    {"BZh"sv, "compressed by bzip2", unpack},
    {"PK\x03\x04"sv, "a zip archive", unpack},
    {"PAR1"sv, "a table in Parquet", take_text_out},
    {"ARROW1\0"sv, "a table in Arrow", take_text_out},
    {"\x93NUMPY"sv, "an array of NumPy", "write its numbers with a header (docs/tokens.md#files)"},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", "name token files, or text"},
};

}  // namespace

void check_text(const MappedFile& file, const std::string& where) {
  const std::string_view content(reinterpret_cast<const char*>(file.bytes().data()),
                                 file.bytes().size());
  const auto* const found = std::find_if(std::begin(magics), std::end(magics), [&](const Magic& m) {
    return content.starts_with(m.bytes);
  });
  if (found == std::end(magics)) return;
  throw_bad_input({where, fmt::format("{} is {}", file.path(), found->kind),
                   "its bytes are no characters", found->suggestion});
}

}  // namespace pptrain
