#include "config/pack.hpp"

#include <string_view>

#include "base/error.hpp"
#include "config/read.hpp"

namespace pptrain {
namespace {

// Ends a field: no path, key or TOML text holds it.
constexpr char field_end = '\0';

std::string take_field(std::string_view& rest) {
  const std::size_t end = rest.find(field_end);
  PPTRAIN_ASSERT(end != std::string_view::npos, "a packed configuration of {} bytes is torn",
                 rest.size());
  std::string field(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return field;
}

}  // namespace

std::string pack_config(const Config& config) {
  std::string packed = write_config(config) + field_end + config.source + field_end +
                       config.model.description + field_end;
  for (const auto& [key, place] : config.places) packed += key + field_end + place + field_end;
  return packed;
}

Config unpack_config(const std::string& packed) {
  std::string_view rest = packed;
  const std::string text = take_field(rest);
  const std::string source = take_field(rest);
  std::string description = take_field(rest);
  Config config = parse_config(text, source, "");
  config.model.description = std::move(description);
  config.places.clear();  // lines of the packed text
  while (!rest.empty()) {
    const std::string key = take_field(rest);
    config.places[key] = take_field(rest);
  }
  return config;
}

}  // namespace pptrain
