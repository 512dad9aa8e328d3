#include "help_format.hpp"

#include "base/names.hpp"
#include "base/screen.hpp"

namespace pptrain {
namespace {

constexpr std::size_t option_columns = 30;  // CLI11's, in front of what an option does

}  // namespace

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
  return wrapped(option->get_description() + required, screen_columns() - option_columns);
}

}  // namespace pptrain
