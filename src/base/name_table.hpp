#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace pptrain {

/// The names that the values of an enumeration have in files and options, in the order of messages.
template <class Kind>
class NameTable {
 public:
  NameTable(std::initializer_list<std::pair<Kind, const char*>> rows) {
    for (const auto& [kind, name] : rows) add(kind, name);
  }

  /// Adds a row behind the others.
  void add(Kind kind, const std::string& name) {
    kinds_.push_back(kind);
    names_.push_back(name);
  }

  /// All names, in the order of the rows.
  const std::vector<std::string>& names() const { return names_; }

  /// The name of a value that the table has.
  const std::string& name_of(Kind kind) const {
    const auto found = std::find(kinds_.begin(), kinds_.end(), kind);
    PPTRAIN_ASSERT(found != kinds_.end(), "a value has no name beside {}", names_.front());
    return names_[static_cast<std::size_t>(found - kinds_.begin())];
  }

  /// The value of a name; nothing where no value has it.
  std::optional<Kind> find(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) return std::nullopt;
    return std::optional<Kind>(std::in_place,
                               kinds_[static_cast<std::size_t>(found - names_.begin())]);
  }

 private:
  std::vector<Kind> kinds_;
  std::vector<std::string> names_;
};

/// Names of an enumeration's values or of nothing, whose name comes last.
template <class Kind>
NameTable<std::optional<Kind>> or_nothing(const NameTable<Kind>& table, const char* nothing) {
  NameTable<std::optional<Kind>> names = {};
  for (const std::string& name : table.names()) names.add(table.find(name), name);
  names.add(std::nullopt, nothing);
  return names;
}

}  // namespace pptrain
