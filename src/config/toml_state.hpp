#pragma once

// Private to this folder: the header of toml++ costs seconds in every file that includes it.
#include <toml++/toml.h>

#include <memory>
#include <set>
#include <string>

#include "config/toml_reader.hpp"

namespace pptrain {

struct TomlTable::State {
  std::shared_ptr<const toml::table> document;  ///< keeps `table` alive
  const toml::table* table = nullptr;
  std::string path;             ///< dotted name, "" for the root
  std::string source;           ///< of the document
  std::set<std::string> known;  ///< keys that were asked for
};

/// `file:line`, or the place alone where lines mean nothing (`--set a.b`).
std::string place_of(const toml::node& node, const std::string& source);

}  // namespace pptrain
