#pragma once

#include <string>
#include <vector>

namespace pptrain {

/// A key of a table in a file.
struct KeyDescription {
  std::string name;
  std::string type;         ///< what it holds, with unit or limits
  std::string fallback;     ///< what holds where it is left out; "": it has to be there
  std::string description;  ///< what it is for
};

/// The keys of one table or object of a file. Readers refuse any other key, and docs/reference is
/// made of these, so that no key can be read that is not described.
struct KeyTable {
  std::string path;         ///< `[[node]]`, `stages[]`
  std::string description;  ///< of the table; may be empty
  std::vector<KeyDescription> keys;

  /// Names of the keys in the order of the table.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const KeyDescription& key : keys) names.push_back(key.name);
    return names;
  }
};

}  // namespace pptrain
