#include "options.hpp"

#include <algorithm>
#include <iostream>

#include "base/log.hpp"
#include "base/names.hpp"
#include "command_line.hpp"
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
  text += gpus > 0 ? "GPUs: " + std::to_string(gpus) : "GPUs: none, so the host is used (" + why_no_gpu() + ")";
  return text;
}

/// `pptrain x.toml` means `pptrain train x.toml`.
std::vector<std::string> with_command(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto first = std::find_if(arguments.begin(), arguments.end(), [](const std::string& a) { return a[0] != '-'; });
  const bool is_file = first != arguments.end() && first->find('.') != std::string::npos;
  if (is_file) arguments.insert(arguments.begin(), "train");
  return arguments;
}

std::string suggestion(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return "";
  const std::string nearest = nearest_name(arguments.front(), command_names());
  const std::vector<std::string>& names = command_names();
  const bool is_command = std::find(names.begin(), names.end(), arguments.front()) != names.end();
  return is_command || nearest.empty() ? "" : "; did you mean `pptrain " + nearest + "`?";
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, bool prints, int& exit_code) {
  Options options;
  CommandLine line(options, version_text);
  std::vector<std::string> arguments = with_command(argc, argv);
  const std::string hint = suggestion(arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
  try {
    line.app().parse(arguments);
  } catch (const CLI::Success& success) {
    exit_code = 0;
    if (prints) line.app().exit(success, std::cout, std::cerr);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    exit_code = 2;
    if (prints) log_error("command line: {}{}; see pptrain --help", error.what(), hint);
    return std::nullopt;
  }
  if (line.quiet) set_verbosity(Verbosity::quiet);
  if (line.verbose) set_verbosity(Verbosity::verbose);
  return options;
}

}  // namespace pptrain
