#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/name_table.hpp"
#include "config/config.hpp"

namespace pptrain {

/// What a number may be: [least, most], or (least, most) where `open`.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_open = false;
  bool most_open = false;
  std::string reason = "";  ///< why the limits are there, for messages; may be empty

  /// Whether a value is within the limits; no NaN and no infinity is.
  bool contains(double value) const;
  /// `at least 1`, `more than 0`, `at least 0 and at most 3`.
  std::string describe() const;
};

/// A key or section as it is written, and what it is for: docs/reference is made of it.
struct Key {
  std::string name;
  std::string description;
};

/// What is done with every key of a configuration: reading it, writing it, describing it.
///
/// `visit_keys` calls one method per key, in the order of the file, so that a key is named and
/// limited in exactly one place.
class KeyVisitor {
 public:
  virtual ~KeyVisitor() = default;

  /// Begins a section, to which the keys up to `end_section` belong. Sections do not nest.
  virtual void begin_section(const Key& section) = 0;
  /// Ends the section that was begun last.
  virtual void end_section() = 0;
  /// Visits a string. A visitor that reads leaves `value`, the default, as it is where the key is
  /// not written.
  virtual void text(const Key& key, std::string& value) = 0;
  /// Visits a list of strings; a file may have a single string in its place.
  virtual void texts(const Key& key, std::vector<std::string>& values) = 0;
  /// A file that is read; relative ones are looked for beside the configuration first.
  /// `keyword` is a value that is no path.
  virtual void input_path(const Key& key, std::string& value, const std::string& keyword) = 0;
  /// Visits a list of files of data that are read, each looked for as by `input_path`; "" among
  /// them names none.
  virtual void input_paths(const Key& key, std::vector<std::string>& values,
                           const std::string& keyword) = 0;
  /// Visits a boolean.
  virtual void flag(const Key& key, bool& value) = 0;
  /// Visits a boolean, or nothing where it is "auto".
  virtual void flag_or_auto(const Key& key, AutoFlag& value) = 0;
  /// Visits a whole number. A visitor that reads throws `Error` (exit code 2) for one outside of
  /// `range`.
  virtual void integer(const Key& key, std::int64_t& value, const Range& range) = 0;
  /// Visits a list of whole numbers, each of which has to be in `range`; it may be empty.
  virtual void integers(const Key& key, std::vector<std::int64_t>& values, const Range& range) = 0;
  /// Visits a whole number in `range`, or nothing where it is "auto".
  virtual void integer_or_auto(const Key& key, AutoInt& value, const Range& range) = 0;
  /// A number, or nothing where it is `keyword`.
  virtual void number_or(const Key& key, std::optional<double>& value, const std::string& keyword,
                         const Range& range) = 0;
  /// Visits a number in `range` that has no unit.
  virtual void number(const Key& key, double& value, const Range& range) = 0;
  /// Visits a time in seconds, which a file may write with its unit: "2 min".
  virtual void seconds(const Key& key, double& value, const Range& range) = 0;
  /// Visits a string that has to be one of `names`.
  virtual void name(const Key& key, std::string& value, const std::vector<std::string>& names) = 0;
  /// Visits an interval, written as [begin, end] with `end` behind its last element. It has no
  /// default: it must be written.
  virtual void interval(const Key& key, Interval& value) = 0;
  /// An array of tables with `size` elements so far; returns how many it has then. Every element
  /// is visited between `begin_element` and `end_element`.
  virtual std::size_t elements(const Key& key, std::size_t size) = 0;
  /// Begins element `index`, from 0, of an array of tables in the present section.
  virtual void begin_element(const std::string& key, std::size_t index) = 0;
  /// Ends the element. A visitor that reads throws `Error` (exit code 2) where it has a key that
  /// was not visited.
  virtual void end_element() = 0;
};

/// Visits a key whose value is one of an enumeration's, by its name.
template <class Kind>
void visit_kind(KeyVisitor& visitor, const Key& key, Kind& value, const NameTable<Kind>& table) {
  std::string name = table.name_of(value);
  visitor.name(key, name, table.names());
  if (const auto kind = table.find(name)) value = *kind;
}

/// Visits all sections and keys.
void visit_keys(KeyVisitor& visitor, Config& config);

}  // namespace pptrain
