#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/key_table.hpp"
#include "profile/json.hpp"
#include "support/catch.hpp"

namespace pptrain {

/// Holds a table of keys to its reader. `document` is one that has every described key; without a
/// key it is refused where the table names no default, and read where it does. `bound` are keys
/// that are there or not with others.
template <class Parse>
void check_key_table(const Json& document, const std::string& pointer, const KeyTable& table,
                     const Parse& parse, const std::vector<std::string>& bound = {}) {
  const Json::json_pointer place(pointer);
  for (const KeyDescription& key : table.keys) {
    INFO(table.path << ": " << key.name);
    CHECK_FALSE(key.description.empty());
    CHECK_FALSE(key.type.empty());
    if (std::find(bound.begin(), bound.end(), key.name) != bound.end()) continue;
    Json without = document;
    REQUIRE(without.at(place).erase(key.name) == 1);
    if (key.fallback.empty()) {
      CHECK_THROWS_AS(parse(without.dump(), "file"), Error);
    } else {
      CHECK_NOTHROW(parse(without.dump(), "file"));
    }
  }
  Json unknown = document;
  unknown.at(place)["no such key"] = 1;
  CHECK_THROWS_AS(parse(unknown.dump(), "file"), Error);
}

}  // namespace pptrain
