#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pptrain {

/// The JSON object in a file; nothing where there is no file. Throws `Error` (exit code 2) where
/// the file is no JSON object or has more than `most_json_levels`.
std::optional<nlohmann::json> read_json_object(const std::string& path);

/// The texts below keys in a line of a .jsonl file, which is one JSON object in UTF-8. A key of
/// nested objects has dots, as "translation.en". Throws `Error` (exit code 2), with `where` (file
/// and line) as the place, where there is none; `option` is what names keys.
std::vector<std::string> texts_of_json_line(std::string_view line,
                                            const std::vector<std::string>& keys,
                                            const std::string& where, const char* option);

/// The text of the token that tokenizer_config.json beside a tokenizer names below `role`
/// ("eos_token"); nothing where there is no such file or name. `tokenizer` is the path of
/// tokenizer.json or of its folder. Throws `Error` (exit code 2) for a file that is no JSON object.
std::optional<std::string> named_token(const std::string& tokenizer, const char* role);

}  // namespace pptrain
