#include "options.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/log.hpp"
#include "base/names.hpp"
#include "base/screen.hpp"
#include "command_line.hpp"
#include "config/foreign_keys.hpp"
#include "config/read.hpp"
#include "cuda/presence.hpp"
#include "pptrain_version.hpp"

namespace pptrain {
namespace {

/// The version, what it was built for, and what it finds.
std::string version_text() {
  std::string text = "pptrain " PPTRAIN_VERSION "\n";
  const std::string gpu_build = cuda_build();
  text += "back ends: host" + (gpu_build.empty() ? "" : "; " + gpu_build) + "\n";
  const int gpus = num_gpus();
  text += gpus > 0 ? "GPUs: " + std::to_string(gpus)
                   : "GPUs: none, so the host is used (" + why_no_gpu() + ")";
  return wrapped(text, screen_columns(), "  ");
}

bool is_command(const std::string& name) {
  const std::vector<std::string>& commands = command_names();
  return std::find(commands.begin(), commands.end(), name) != commands.end();
}

/// Whether an argument that is no subcommand means a file: it looks like one, or there is something
/// of the name.
bool means_file(const std::string& argument) {
  std::error_code ignored;
  return argument.find('.') != std::string::npos || std::filesystem::exists(argument, ignored);
}

/// `pptrain x.toml` means `pptrain train x.toml`, and `pptrain help plan` means `pptrain plan
/// --help`.
std::vector<std::string> with_command(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
    return arguments;
  }
  const auto first = std::find_if(arguments.begin(), arguments.end(),
                                  [](const std::string& a) { return a[0] != '-'; });
  const bool is_file = first != arguments.end() && !is_command(*first) && means_file(*first);
  if (is_file) arguments.insert(arguments.begin(), "train");
  return arguments;
}

/// The first argument that looks like an option and is none of `app`; "" where all are known.
std::string unknown_option(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && app.get_option_no_throw(name) == nullptr) return name;
  }
  return "";
}

/// What to write for an option of another tool that is a key of the configuration here: "--lr". It
/// is the option of the key's own name where there is one: "--sequence-length" for "--seq-len".
std::string meant_setting(const std::string& option, const CLI::App& app) {
  if (app.get_option_no_throw("--set") == nullptr) return "";
  std::string name = option.substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  const std::vector<std::string> settings = settings_called(name);
  if (settings.empty()) return "";
  const std::string& setting = settings.front();
  std::string own = "--" + setting.substr(setting.find('.') + 1);
  std::replace(own.begin(), own.end(), '_', '-');
  if (app.get_option_no_throw(own) != nullptr) return "; did you mean `" + own + "`?";
  return "; did you mean `--set " + setting + "=VALUE`?";
}

std::string meant(const std::string& name, const std::vector<std::string>& candidates,
                  const std::string& in_front) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "; did you mean `" + in_front + nearest + "`?";
}

/// What is wrong with the arguments, in more helpful words than CLI11's where it is a name that is
/// not known.
std::string problem(const CLI::ParseError& error, CommandLine& line,
                    const std::vector<std::string>& arguments) {
  const std::vector<std::string>& commands = command_names();
  const std::string first = arguments.empty() ? "" : arguments.front();
  const bool has_command = is_command(first);
  const CLI::App& app = has_command ? *line.app().get_subcommand(first) : line.app();
  const std::string name = has_command ? "pptrain " + first : "pptrain";
  const std::string help = "see " + name + " --help";
  const auto with_help = [&](const std::string& text) {
    return text + (text.ends_with('?') ? " (" + help + ")" : "; " + help);
  };
  const std::string option = unknown_option(app, arguments);
  if (!option.empty()) {
    std::vector<std::string> options;
    for (const CLI::Option* known : app.get_options())
      for (const std::string& long_name : known->get_lnames()) options.push_back("--" + long_name);
    std::string advice = key_called(option.substr(2)).empty() ? meant(option, options, "") : "";
    if (advice.empty()) advice = meant_setting(option, app);
    return with_help(option + " is no option of " + name + advice);
  }
  if (has_command) return with_help(error.what());
  if (first.empty() || first[0] == '-')
    return with_help("a subcommand or a CONFIG.toml is missing");
  return with_help(first + " is no subcommand" + meant(first, commands, "pptrain "));
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, bool prints, int& exit_code) {
  Options options;
  CommandLine line(options, version_text);
  std::vector<std::string> arguments = with_command(argc, argv);
  try {
    std::vector<std::string> last_first(arguments.rbegin(), arguments.rend());
    line.app().parse(last_first);
  } catch (const CLI::Success& success) {
    exit_code = 0;
    if (prints) line.app().exit(success, std::cout, std::cerr);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    exit_code = 2;
    if (prints) log_error("command line: {}", shown(problem(error, line, arguments)));
    return std::nullopt;
  }
  if (line.quiet) set_verbosity(Verbosity::quiet);
  if (line.verbose) set_verbosity(Verbosity::verbose);
  return options;
}

}  // namespace pptrain
