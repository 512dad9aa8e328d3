#include "base/json_levels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"

namespace pptrain {

std::optional<std::size_t> find_json_beyond(std::string_view text, std::size_t levels) {
  std::size_t open = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++at;
    if (in_string) continue;
    if ((c == '[' || c == '{') && ++open > levels) return at;
    if ((c == ']' || c == '}') && open > 0) --open;
  }
  return std::nullopt;
}

void check_json_levels(std::string_view text, const std::string& source,
                       const std::string& suggestion) {
  const std::optional<std::size_t> beyond = find_json_beyond(text);
  if (!beyond) return;
  const std::string_view before = text.substr(0, *beyond);
  throw_bad_input({fmt::format("{}:{}", source, 1 + std::count(before.begin(), before.end(), '\n')),
                   fmt::format("has more than {} levels", most_json_levels),
                   "no such file is that deep", suggestion});
}

void JsonKeyCount::add(std::size_t keys_before, const std::string& place,
                       const std::string& suggestion) {
  comparisons_ += keys_before;
  if (comparisons_ <= most_comparisons) return;
  throw_bad_input({place, fmt::format("has too many keys, {} of one object", keys_before + 1),
                   "no such file has so many, and the time to read them grows with their square",
                   suggestion});
}

std::string json_reason(std::string_view message) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
  // ..."
  const std::size_t column = message.find("column ");
  const std::string_view before = column == std::string_view::npos ? "] " : ": ";
  const std::size_t begin = message.find(before, column == std::string_view::npos ? 0 : column);
  return shown(begin == std::string_view::npos ? message : message.substr(begin + before.size()));
}

}  // namespace pptrain
