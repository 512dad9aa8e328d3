#include "command_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "help_format.hpp"

namespace pptrain {
namespace {

ManualOption read_option(const CLI::Option& option, const CommandLine& line) {
  ManualOption read;
  for (const std::string& name : option.get_snames()) read.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) read.names.push_back("--" + name);
  read.value = value_name(option);
  read.description = option.get_description();
  read.choices = line.choices(&option);
  read.required = option.get_required();
  read.repeated = option.get_items_expected_max() > 1;
  return read;
}

ManualCommand read_command(const CLI::App& app, const std::string& name, const CommandLine& line) {
  ManualCommand command;
  command.name = name;
  command.description = app.get_description();
  command.details = line.details(app.get_name());
  command.examples = line.examples(app.get_name());
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? command.arguments : command.options)
        .push_back(read_option(*option, line));
  }
  return command;
}

}  // namespace

std::string ManualCommand::synopsis() const {
  std::string text = full_name(" ");
  if (name.empty()) return text + " [OPTION...] COMMAND [ARGUMENT...]";
  for (const ManualOption& option : options) {
    if (option.required) text += fmt::format(" {} {}", option.names.back(), option.value);
  }
  text += " [OPTION...]";
  for (const ManualOption& argument : arguments) {
    text += argument.required ? " " + shown_value(argument) : " [" + shown_value(argument) + "]";
  }
  return text;
}

Manual read_manual(CommandLine& line) {
  Manual manual;
  manual.program = read_command(line.app(), "", line);
  for (const std::string& name : command_names()) {
    manual.commands.push_back(read_command(*line.app().get_subcommand(name), name, line));
  }
  return manual;
}

std::string shown_value(const ManualOption& option) {
  return option.names.empty() && option.repeated ? option.value + "..." : option.value;
}

ValueKind value_kind(const ManualOption& option) {
  if (option.value == "DIR" || option.value == "RUN_DIR") return ValueKind::folder;
  static const std::array<std::string, 3> any_file = {"FILE", "TEXT", "PATH|latest"};
  const bool is_any = std::find(any_file.begin(), any_file.end(), option.value) != any_file.end();
  return is_any || !file_extension(option).empty() ? ValueKind::file : ValueKind::none;
}

std::string file_extension(const ManualOption& option) {
  const auto dot = option.value.rfind('.');
  const bool is_key = option.value.find('=') != std::string::npos;  // SECTION.KEY=VALUE
  return dot == std::string::npos || is_key ? "" : option.value.substr(dot + 1);
}

std::string option_word(const ManualOption& option) {
  const auto bar = option.value.find('|');
  return bar == std::string::npos ? "" : option.value.substr(bar + 1);
}

}  // namespace pptrain
