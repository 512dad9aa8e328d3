#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

namespace pptrain {

/// A JSON object from a file, and the line of each of its keys.
struct JsonText {
  nlohmann::ordered_json object;
  /// By the value behind the key, at any depth. Addresses stay as long as `object` is neither
  /// changed nor copied.
  std::unordered_map<const nlohmann::ordered_json*, std::int64_t> lines;
};

/// Reads a file that holds one JSON object; `suggestion` is what to do where there is none. A file
/// that cannot be read, no JSON, a key twice in one object, more than `most_json_levels` or 100 MB
/// throw `Error` (exit code 2) with file and line.
JsonText read_json_text(const std::string& path, const std::string& suggestion);

/// Reads a text at hand that holds one JSON object; `source` names it in messages, `suggestion` is
/// what to do where there is none. No JSON, a key twice in one object, more than `most_json_levels`
/// or 100 MB throw `Error` (exit code 2) with source and line.
JsonText parse_json_text(const std::string& text, const std::string& source,
                         const std::string& suggestion);

}  // namespace pptrain
