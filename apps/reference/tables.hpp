#pragma once

#include <string>
#include <vector>

#include "base/key_table.hpp"

namespace pptrain {

/// The head of a page, which says where it is from.
std::string page_head(const std::string& title, const std::string& introduction);

/// What the column of `KeyDescription::fallback` says.
enum class Fallback { default_value, when };

/// A table as a section of a page.
std::string table_section(const KeyTable& table, Fallback fallback);
std::string table_sections(const std::vector<KeyTable>& tables, Fallback fallback);

}  // namespace pptrain
