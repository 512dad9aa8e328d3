#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_table.hpp"
#include "base/units.hpp"

namespace pptrain {

/// One table of a TOML document, read strictly.
///
/// Every getter marks its key as known; `finish` refuses what is left over. A getter without
/// fallback refuses a missing key. All errors are `Error` with exit code 2 and name file and line,
/// or `--set section.key` for a value that came from the command line.
///
/// Cheap to copy: copies share the document and the set of known keys.
class TomlTable {
 public:
  /// Whether the key is there. Does not mark it as known.
  bool has(std::string_view key) const;
  /// Marks a key as known without reading it.
  void know(std::string_view key) const;
  /// The keys in alphabetical order, for tables whose keys are names the user chose.
  std::vector<std::string> keys() const;

  /// `file:line` of the table, or of the value of `key` (of the table when there is none).
  std::string where() const;
  /// Place of the value of `key`; of the table where the key is missing.
  std::string where(std::string_view key) const;
  /// `section.key` for messages; the key alone in the root table.
  std::string full_name(std::string_view key) const;

  /// A string; `fallback` where the key is missing.
  std::string string(std::string_view key,
                     std::optional<std::string> fallback = std::nullopt) const;
  /// True or false; `fallback` where the key is missing.
  bool boolean(std::string_view key, std::optional<bool> fallback = std::nullopt) const;
  /// A whole number; floats are refused, 3.0 too.
  std::int64_t integer(std::string_view key,
                       std::optional<std::int64_t> fallback = std::nullopt) const;
  /// An integer or a float; infinities and NaN are refused.
  double number(std::string_view key, std::optional<double> fallback = std::nullopt) const;
  /// A string with unit (`"5 us"`) or a bare number in SI base units.
  double quantity(std::string_view key, Quantity quantity,
                  std::optional<double> fallback = std::nullopt) const;
  /// An integer, or nothing for `"auto"`. `fallback` is returned for a missing key.
  std::optional<std::int64_t> integer_or_auto(std::string_view key,
                                              std::optional<std::int64_t> fallback) const;
  /// True or false, or nothing for `"auto"`. The key must be there.
  std::optional<bool> flag_or_auto(std::string_view key) const;
  /// A number, or nothing for `keyword`.
  std::optional<double> number_or(std::string_view key, const std::string& keyword) const;
  /// A string that is one of `names`; the nearest one is suggested for another.
  std::string name(std::string_view key, const std::vector<std::string>& names,
                   std::optional<std::string> fallback = std::nullopt) const;

  /// A string or an array of strings; empty when the key is missing.
  std::vector<std::string> strings(std::string_view key) const;
  /// An array of integers; empty when the key is missing.
  std::vector<std::int64_t> integers(std::string_view key) const;

  /// A sub-table, `[key]` or inline; nothing when the key is missing.
  std::optional<TomlTable> table(std::string_view key) const;
  /// An array of tables, `[[key]]` or inline; empty when the key is missing.
  std::vector<TomlTable> tables(std::string_view key) const;

  /// What to do about a key that is not known here, where its name tells; "" where it does not.
  using Advice = std::function<std::string(const std::string& key)>;
  /// Refuses the first key that no getter asked for, with the advice for it, or names the nearest
  /// known one.
  void finish(const Advice& advice = {}) const;
  /// Refuses the first key that no getter asked for, in a table whose keys are described; that all
  /// getters asked for these and no others is an invariant.
  void finish(const KeyTable& described) const;

  /// Throws with the place of `key`.
  [[noreturn]] void refuse(std::string_view key, const std::string& problem,
                           const std::string& reason, const std::string& suggestion) const;

  struct State;
  explicit TomlTable(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

/// Parses TOML text; `source` names it in messages.
///
/// `overrides` are `section.key=VALUE` (or `key=VALUE` for the root table) and replace or add
/// values. VALUE is read as a TOML value and, where it is none, as a string. Syntax errors and
/// duplicate keys throw `Error` (exit code 2) with `source:line:column`.
TomlTable parse_toml(std::string_view text, const std::string& source,
                     const std::vector<std::string>& overrides = {});

/// Parses the TOML file at `path`, with `overrides` as for `parse_toml`. Bad text, and a file that
/// is missing or cannot be read, throw `Error` (exit code 2).
TomlTable read_toml(const std::string& path, const std::vector<std::string>& overrides = {});

/// The text as a quoted TOML string.
std::string quote_toml(std::string_view text);

}  // namespace pptrain
