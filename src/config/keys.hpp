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

  bool contains(double value) const;
  /// `at least 1`, `more than 0`, `between 0 and 3`.
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

  virtual void begin_section(const Key& section) = 0;
  virtual void end_section() = 0;
  virtual void text(const Key& key, std::string& value) = 0;
  virtual void texts(const Key& key, std::vector<std::string>& values) = 0;
  /// A file that is read; relative ones are looked for beside the configuration first.
  /// `keyword` is a value that is no path.
  virtual void input_path(const Key& key, std::string& value, const std::string& keyword) = 0;
  virtual void input_paths(const Key& key, std::vector<std::string>& values, const std::string& keyword) = 0;
  virtual void flag(const Key& key, bool& value) = 0;
  virtual void flag_or_auto(const Key& key, AutoFlag& value) = 0;
  virtual void integer(const Key& key, std::int64_t& value, const Range& range) = 0;
  virtual void integers(const Key& key, std::vector<std::int64_t>& values, const Range& range) = 0;
  virtual void integer_or_auto(const Key& key, AutoInt& value, const Range& range) = 0;
  /// A number, or nothing where it is `keyword`.
  virtual void number_or(const Key& key, std::optional<double>& value, const std::string& keyword,
                         const Range& range) = 0;
  virtual void number(const Key& key, double& value, const Range& range) = 0;
  virtual void seconds(const Key& key, double& value, const Range& range) = 0;
  virtual void name(const Key& key, std::string& value, const std::vector<std::string>& names) = 0;
  virtual void interval(const Key& key, Interval& value) = 0;
  /// An array of tables with `size` elements so far; returns how many it has then. Every element
  /// is visited between `begin_element` and `end_element`.
  virtual std::size_t elements(const Key& key, std::size_t size) = 0;
  virtual void begin_element(const std::string& key, std::size_t index) = 0;
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
