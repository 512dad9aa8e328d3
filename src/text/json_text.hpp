#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pptrain {

/// The text below `key` in a line of a .jsonl file, which is one JSON object in UTF-8. Throws `Error` (exit code 2),
/// with `where` (file and line) as the place, where there is none.
std::string text_of_json_line(std::string_view line, const std::string& key, const std::string& where);

/// The text of the token that ends a document, as tokenizer_config.json beside a tokenizer names it (`eos_token`);
/// nothing where there is no such file or name. `tokenizer` is the path of tokenizer.json or of its folder. Throws
/// `Error` (exit code 2) for a file that is no JSON object.
std::optional<std::string> named_end_of_document(const std::string& tokenizer);

}  // namespace pptrain
