#include <fmt/format.h>

#include "base/names.hpp"
#include "formats.hpp"

namespace pptrain {
namespace {

/// Text of a table's cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Code of a table's cell, where only "|" ends it.
std::string code(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return "`" + escaped + "`";
}

std::string options_table(const std::string& title, const std::vector<ManualOption>& options) {
  std::string text = fmt::format("| {} | |\n|---|---|\n", title);
  for (const ManualOption& option : options) {
    std::string names = option.names.empty() ? shown_value(option) : join(option.names);
    if (!option.names.empty() && !option.value.empty()) names += " " + option.value;
    text += fmt::format("| {} | {}{} |\n", code(names), cell(option.description),
                        option.required ? " (required)" : "");
  }
  return text + "\n";
}

std::string command_section(const ManualCommand& command) {
  std::string text = fmt::format("## {}\n\n{}.\n\n", command.full_name(" "), command.description);
  text += fmt::format("    {}\n\n{}\n\n", command.synopsis(), command.details);
  if (!command.arguments.empty()) text += options_table("argument", command.arguments);
  text += options_table("option", command.options) + "For instance:\n\n";
  for (const CommandExample& example : command.examples) {
    text += fmt::format("    {:<60}  # {}\n", example.command, example.purpose);
  }
  return text + "\n";
}

}  // namespace

std::string markdown_reference(const Manual& manual) {
  std::string text =
      fmt::format("# The command line\n\n{}\n\n    {}\n\n{}\n\n", manual.program.description,
                  manual.program.synopsis(), manual.program.details);
  text += options_table("option", manual.program.options) + "| exit code | |\n|---|---|\n";
  for (const ExitCodeMeaning& exit : exit_code_meanings()) {
    text += fmt::format("| {} | {} |\n", exit.code, cell(exit.meaning));
  }
  text += "\n";
  for (const ManualCommand& command : manual.commands) text += command_section(command);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace pptrain
