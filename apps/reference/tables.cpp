#include "tables.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// A cell may hold a bar in code only where it is escaped.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char character : text) escaped += character == '|' ? "\\|" : std::string(1, character);
  return escaped;
}

}  // namespace

std::string page_head(const std::string& title, const std::string& introduction) {
  return fmt::format("<!-- Written by pptrain_reference; do not edit. -->\n# {}\n\n{}\n", title,
                     introduction);
}

std::string table_section(const KeyTable& table, Fallback fallback) {
  std::string text = fmt::format("\n## {}\n\n", table.path);
  if (!table.description.empty()) text += table.description + "\n\n";
  bool any = false;
  for (const KeyDescription& key : table.keys) any = any || !key.fallback.empty();
  const std::string column = fallback == Fallback::when ? "when" : "default";
  text += any ? fmt::format("| name | holds | {} | what it is |\n|---|---|---|---|\n", column)
              : "| name | holds | what it is |\n|---|---|---|\n";
  for (const KeyDescription& key : table.keys) {
    PPTRAIN_ASSERT(!key.description.empty(), "{} of {} has no description", key.name, table.path);
    const std::string absent =
        !any ? "" : cell(key.fallback.empty() ? "required" : key.fallback) + " | ";
    text += fmt::format("| `{}` | {} | {}{} |\n", key.name, cell(key.type), absent,
                        cell(key.description));
  }
  return text;
}

std::string table_sections(const std::vector<KeyTable>& tables, Fallback fallback) {
  std::string text;
  for (const KeyTable& table : tables) text += table_section(table, fallback);
  return text;
}

}  // namespace pptrain
