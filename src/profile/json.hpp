#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/key_table.hpp"

namespace pptrain {

using Json = nlohmann::ordered_json;

/// The text of a file; throws `Error` (exit code 2) when it cannot be read.
std::string read_text_file(const std::string& path);

/// Parses a document. What is no JSON, has more than `most_json_levels`, a number too large for a
/// double, or a key given twice throws `Error` (exit code 2) with the line where it is known, and
/// `suggestion` for a file that pptrain does not write.
Json parse_json(const std::string& text, const std::string& source,
                const std::string& suggestion = "");

/// The document with short objects and arrays on one line, ending in a newline.
std::string format_json(const Json& document);

/// A double as the shortest JSON number that reads back to it; whole numbers without a point.
Json json_number(double value);

/// A value of a document with its path (`layers[3].seconds[0].forward`): the getters refuse what is
/// missing, of the wrong type or out of range with `Error` (exit code 2), naming source and path.
class JsonNode {
 public:
  JsonNode(const Json& document, std::string source)
      : value_(&document), source_(std::move(source)) {}

  /// Refuses anything but an object with no other keys than these, naming the nearest one.
  void allow_keys(const std::vector<std::string>& known) const;
  /// Refuses anything but an object with no other keys than those described.
  void allow_keys(const KeyTable& described) const { allow_keys(described.names()); }
  /// Whether this is an object with the key, even if its value is null.
  bool has(const std::string& key) const;
  bool is_null() const { return value_->is_null(); }
  /// The member `key`, which must be there.
  JsonNode at(const std::string& key) const;
  /// The elements of an array.
  std::vector<JsonNode> elements() const;
  /// The keys of an object.
  std::vector<std::string> keys() const;

  /// The value as a string.
  std::string string() const;
  /// The value as a boolean.
  bool boolean() const;
  /// The value as a finite number, whole or not.
  double number() const;
  /// A number from `minimum` to 10^18.
  double number_at_least(double minimum) const;
  /// A whole number, which may be written as 3.0, of a size below 2^53.
  std::int64_t integer() const;
  /// A whole number from `minimum` to below 2^53.
  std::int64_t integer_at_least(std::int64_t minimum) const;
  /// A whole number from `minimum` to the largest `int`.
  int small_integer_at_least(int minimum) const;

  /// Bad input at this place.
  [[noreturn]] void refuse(const std::string& problem, const std::string& reason = "",
                           const std::string& suggestion = "") const;
  /// Path of the value in its document; "" at the top.
  const std::string& path() const { return path_; }

 private:
  JsonNode(const Json& value, std::string source, std::string path)
      : value_(&value), source_(std::move(source)), path_(std::move(path)) {}
  std::string text() const;

  const Json* value_;
  std::string source_;
  std::string path_;
};

}  // namespace pptrain
