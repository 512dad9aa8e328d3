#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pptrain {

/// A value in tokenizer.json with its path (`pre_tokenizer.pretokenizers[0].type`). The getters
/// throw `Error` (exit code 2), with file and path, where the value is missing or of another type.
class TokenizerNode {
 public:
  TokenizerNode(const nlohmann::json& value, std::string source)
      : value_(&value), source_(std::move(source)) {}

  /// Refuses anything but an object with no other keys than these.
  void allow_keys(const std::vector<std::string>& known) const;
  /// Whether an object has the key, with another value than null.
  bool has(const std::string& key) const;
  /// The member `key`, which must be there.
  TokenizerNode at(const std::string& key) const;
  /// Elements of an array, each with its own path.
  std::vector<TokenizerNode> elements() const;

  /// The value as a string; any other type is refused.
  std::string string() const;
  /// The value as a boolean; any other type is refused.
  bool boolean() const;
  /// A boolean of the member `key`; `otherwise` where it is not there.
  bool boolean_or(const std::string& key, bool otherwise) const;
  /// The value as a number, whole or not.
  double number() const;
  /// A token: a whole number from 0 to 2^31 - 1.
  std::uint32_t token() const;
  /// A whole number from 0 to 2^31 - 1 that is no token.
  std::size_t count() const;
  /// The only character of a string.
  char32_t character() const;
  /// Whether `string` would return; never throws.
  bool is_string() const { return value_->is_string(); }
  /// Whether `elements` would return; never throws.
  bool is_array() const { return value_->is_array(); }
  /// The JSON value itself, which the node does not own.
  const nlohmann::json& value() const { return *value_; }
  /// The member `type` of this object.
  std::string type() const { return at("type").string(); }

  /// File and path.
  std::string place() const;
  /// Bad input at this place.
  [[noreturn]] void refuse(const std::string& problem, const std::string& reason,
                           const std::string& remedy) const;
  /// Refuses the type of this object, which is a `what`; `known` are those that work.
  [[noreturn]] void refuse_type(const std::string& what,
                                const std::vector<std::string>& known) const;

 private:
  TokenizerNode(const nlohmann::json& value, std::string source, std::string path)
      : value_(&value), source_(std::move(source)), path_(std::move(path)) {}
  std::string found() const;
  std::int64_t whole_number() const;

  const nlohmann::json* value_;
  std::string source_;
  std::string path_;
};

}  // namespace pptrain
