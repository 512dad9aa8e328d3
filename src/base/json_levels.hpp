#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pptrain {

// What every reader of JSON asks beside the parser. The library parses and destroys documents of
// any depth, but copies, compares and writes them by functions that call themselves for each level:
// a file of brackets would end the program for want of stack.

/// Objects and arrays that may lie in one another in a file: more than any known one has.
inline constexpr std::size_t most_json_levels = 32;

/// The place of the first bracket in a text of JSON that opens more than `levels` objects and
/// arrays in one another; nothing where none does. What is no JSON gives any answer.
std::optional<std::size_t> find_json_beyond(std::string_view text,
                                            std::size_t levels = most_json_levels);

/// Throws `Error` (exit code 2) where `find_json_beyond` finds a bracket, with its line in
/// `source`; `suggestion` is what to do then.
void check_json_levels(std::string_view text, const std::string& source,
                       const std::string& suggestion);

/// Counts the keys of a document while it is read by the library's ordered objects, which compare
/// each key with all before it in its object: their time grows with the square of the keys.
class JsonKeyCount {
 public:
  /// Comparisons that take some seconds. One object may have 44,721 keys then, more than any known
  /// file has.
  static constexpr std::size_t most_comparisons = 1'000'000'000;

  /// Counts a key behind `keys_before` others of its object. Throws `Error` (exit code 2) with
  /// `place` where all objects together have more than the limit; `suggestion` is what to do then.
  void add(std::size_t keys_before, const std::string& place, const std::string& suggestion);

 private:
  std::size_t comparisons_ = 0;
};

/// Why a text is no JSON: what the library's message says behind its codes and places. Long and
/// unprintable parts of the text are left out.
std::string json_reason(std::string_view message);

}  // namespace pptrain
