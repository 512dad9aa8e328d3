#include <fmt/format.h>

#include "base/names.hpp"
#include "formats.hpp"

namespace pptrain {
namespace {

/// Text within single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '\'' ? "'\\''" : std::string(1, c);
  return "'" + escaped + "'";
}

std::string option_names(const ManualCommand& command) {
  std::vector<std::string> names;
  for (const ManualOption& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return join(names, " ");
}

// --- bash ---

/// What offers the values of an option or an argument; "" where nothing can be offered.
std::string bash_values(const ManualOption& option) {
  if (!option.choices.empty()) return fmt::format("_pptrain_words '{}'", join(option.choices, " "));
  switch (value_kind(option)) {
    case ValueKind::none: return ":";
    case ValueKind::folder: return "_pptrain_folders";
    case ValueKind::file: break;
  }
  const std::string extension = file_extension(option);
  const std::string files = extension.empty() ? "_pptrain_files" : "_pptrain_files " + extension;
  return option_word(option).empty()
             ? files
             : fmt::format("{}; _pptrain_more '{}'", files, option_word(option));
}

std::string bash_command(const ManualCommand& command) {
  std::string text = fmt::format("    {})\n      case $previous in\n", command.name);
  for (const ManualOption& option : command.options) {
    if (option.value.empty()) continue;
    text +=
        fmt::format("        {}) {}; return ;;\n", join(option.names, " | "), bash_values(option));
  }
  text += "      esac\n";
  text += fmt::format("      if [[ $current == -* ]]; then _pptrain_words '{}'; return; fi\n",
                      option_names(command));
  for (const ManualOption& argument : command.arguments)
    text += "      " + bash_values(argument) + "\n";
  return text + "      ;;\n";
}

constexpr const char* bash_helpers =
    R"(_pptrain_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }
_pptrain_more() { mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$current"); }
_pptrain_folders() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$current")
}
# _pptrain_files [EXTENSION]: these and folders.
_pptrain_files() {
  compopt -o filenames 2>/dev/null
  if [[ $# -eq 0 ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -d -- "$current"; compgen -f -X "!*.$1" -- "$current")
  fi
}
)";

// --- zsh ---

std::string zsh_values(const ManualOption& option) {
  if (!option.choices.empty()) return fmt::format("({})", join(option.choices, " "));
  switch (value_kind(option)) {
    case ValueKind::none: return "";
    case ValueKind::folder: return "_files -/";
    case ValueKind::file: break;
  }
  const std::string extension = file_extension(option);
  const std::string files =
      extension.empty() ? "_files" : fmt::format("_files -g \"*.{}\"", extension);
  const std::string word = option_word(option);
  return word.empty() ? files : fmt::format("{{ compadd {}; {} }}", word, files);
}

/// Text in which zsh's _arguments reads no special character.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_option(const ManualOption& option) {
  std::string text;
  const std::string value =
      option.value.empty() ? "" : ":" + zsh_text(option.value) + ":" + zsh_values(option);
  for (const std::string& name : option.names) {
    const std::string times = option.repeated ? "*" : "(" + join(option.names, " ") + ")";
    text += fmt::format("        {} \\\n",
                        quoted(times + name + "[" + zsh_text(option.description) + "]" + value));
  }
  return text;
}

std::string zsh_command(const ManualCommand& command) {
  std::string text = fmt::format("    {})\n      _arguments -s", command.name) + " \\\n";
  for (const ManualOption& option : command.options) text += zsh_option(option);
  for (const ManualOption& argument : command.arguments) {
    const std::string times = argument.repeated ? "*" : "";
    text += fmt::format("        {} \\\n", quoted(times + ":" + zsh_text(argument.value) + ":" +
                                                  zsh_values(argument)));
  }
  return text + "        && return\n      ;;\n";
}

// --- fish ---

std::string fish_option(const ManualOption& option, const std::string& condition) {
  std::string text = "complete -c pptrain -n " + quoted(condition);
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.choices.empty()) {
    text += " -x -a " + quoted(join(option.choices, " "));
  } else if (!option.value.empty()) {
    const ValueKind kind = value_kind(option);
    if (kind == ValueKind::none) text += " -x";
    if (kind == ValueKind::folder) text += " -x -a '(__fish_complete_directories)'";
    if (kind == ValueKind::file) text += " -r -F";
    if (!option_word(option).empty()) text += " -a " + option_word(option);
  }
  return text + " -d " + quoted(option.description) + "\n";
}

}  // namespace

std::string bash_completion(const Manual& manual) {
  std::vector<std::string> names;
  for (const ManualCommand& command : manual.commands) names.push_back(command.name);
  std::string text =
      "# Completion of pptrain for bash, made from its command line.\n" + std::string(bash_helpers);
  text += fmt::format(R"(_pptrain() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
    case $word in
      {}) command=$word ;;
      *.*) command=train ;;
      *) continue ;;
    esac
    break
  done
  case $command in
    '')
      _pptrain_files toml
      _pptrain_more '{} {}'
      ;;
)",
                      join(names, " | "), join(names, " "), option_names(manual.program));
  for (const ManualCommand& command : manual.commands) text += bash_command(command);
  return text + "  esac\n}\ncomplete -F _pptrain pptrain\n";
}

std::string zsh_completion(const Manual& manual) {
  std::string text =
      "#compdef pptrain\n# Completion of pptrain for zsh, made from its command line.\n\n";
  text += "_pptrain_first() {\n  local -a commands=(\n";
  for (const ManualCommand& command : manual.commands) {
    text += "    " + quoted(command.name + ":" + command.description) + "\n";
  }
  text += "  )\n  _describe command commands\n  _files -g '*.toml'\n}\n\n";
  text +=
      "_pptrain() {\n  local context state state_descr line\n  typeset -A opt_args\n  _arguments "
      "-s -C \\\n";
  for (const ManualOption& option : manual.program.options) text += zsh_option(option);
  text += "        '1:command:_pptrain_first' '*:: :->arguments' && return\n";
  text +=
      "  local command=$words[1]\n  if [[ $command == *.* ]]; then command=train; fi\n  case "
      "$command in\n";
  for (const ManualCommand& command : manual.commands) text += zsh_command(command);
  return text + "  esac\n}\n\n_pptrain \"$@\"\n";
}

std::string fish_completion(const Manual& manual) {
  std::vector<std::string> names;
  for (const ManualCommand& command : manual.commands) names.push_back(command.name);
  std::string text = fmt::format(R"(# Completion of pptrain for fish, made from its command line.
# The subcommand of what is typed so far; a file's name stands for train.
function __pptrain_command
    for word in (commandline -opc)[2..-1]
        switch $word
            case {}
                echo $word
                return
            case '-*'
            case '*.*'
                echo train
                return
        end
    end
    echo none
end
)",
                                 join(names, " "));
  const auto within = [](const std::string& command) {
    return "test (__pptrain_command) = " + command;
  };
  for (const ManualCommand& command : manual.commands) {
    text += fmt::format("complete -c pptrain -n {} -a {} -d {}\n", quoted(within("none")),
                        command.name, quoted(command.description));
  }
  for (const ManualOption& option : manual.program.options)
    text += fish_option(option, within("none"));
  for (const ManualCommand& command : manual.commands) {
    for (const ManualOption& option : command.options)
      text += fish_option(option, within(command.name));
  }
  return text;
}

}  // namespace pptrain
