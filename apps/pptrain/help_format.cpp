#include "help_format.hpp"

#include <sstream>

namespace pptrain {
namespace {

constexpr std::size_t terminal_columns = 80;
constexpr std::size_t option_columns = 30;  // CLI11's, in front of what an option does

std::string wrapped_line(const std::string& line, std::size_t width) {
  std::istringstream words(line);
  std::string text;
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    const bool fits = column + 1 + word.size() <= width;
    if (column > 0) text += fits ? ' ' : '\n';
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    text += word;
  }
  return text;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += (all.empty() ? "" : "\n") + wrapped_line(line, width);
  return all;
}

std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string name = option.get_positional() ? option.get_name(true) : option.get_type_name();
  return name.substr(0, name.find(':'));  // checks follow the type
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_positional()) return option->get_items_expected_max() > 1 ? "..." : "";
  const std::string name = value_name(*option);
  return name.empty() ? "" : " " + name;
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  const std::string required = option->get_required() ? " (required)" : "";
  return wrapped(option->get_description() + required, terminal_columns - option_columns);
}

}  // namespace pptrain
