#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pptrain {

// What every reader of JSON asks beside the parser. The library parses and destroys documents of any depth, but copies,
// compares and writes them by functions that call themselves for each level: a file of brackets would end the program
// for want of stack.

/// Objects and arrays that may lie in one another in a file: more than any known one has.
inline constexpr std::size_t most_json_levels = 32;

/// The place of the first bracket in a text of JSON that opens more than `levels` objects and arrays in one another;
/// nothing where none does. What is no JSON gives any answer.
std::optional<std::size_t> find_json_beyond(std::string_view text, std::size_t levels = most_json_levels);

/// Throws `Error` (exit code 2) where `find_json_beyond` finds a bracket, with its line in `source`; `suggestion` is
/// what to do then.
void check_json_levels(std::string_view text, const std::string& source, const std::string& suggestion);

/// Why a text is no JSON: what the library's message says behind its codes and places. Long and unprintable parts of
/// the text are left out.
std::string json_reason(std::string_view message);

}  // namespace pptrain
