#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace pptrain {

/// A use of a subcommand, for people.
struct CommandExample {
  std::string command;
  std::string purpose;
};

struct ExitCodeMeaning {
  int code = 0;
  std::string meaning;
};

/// What the command line returns.
const std::vector<ExitCodeMeaning>& exit_code_meanings();

/// Names of the subcommands.
const std::vector<std::string>& command_names();

/// Accepts whole numbers of at least 1: how many of something there are, as steps or samples.
CLI::Validator positive_count();

/// A number of tokens, "1e12" or "300B" (K, M, B and T); nothing where the text is no positive
/// number of that form.
std::optional<double> parse_tokens(const std::string& text);

/// The command line of pptrain in CLI11's objects, filling `Options`: what --help, the man pages,
/// the completions of shells and the documentation's reference are made from.
class CommandLine {
 public:
  /// `version` makes the text of --version.
  CommandLine(Options& options, std::function<std::string()> version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App& app() { return app_; }
  /// What is to be known of a subcommand beside its options.
  const std::string& details(const std::string& command) const { return details_.at(command); }
  const std::vector<CommandExample>& examples(const std::string& command) const {
    return examples_.at(command);
  }
  /// The values that an option has; empty where it takes others.
  const std::vector<std::string>& choices(const CLI::Option* option) const;

  bool quiet = false;
  bool verbose = false;

 private:
  CLI::App* command(Command value, const std::string& name, const std::string& description);
  void describe(CLI::App* sub, const std::string& details,
                const std::vector<CommandExample>& examples);
  void verbosity_flags(CLI::App* app);
  void overrides(CLI::App* sub);
  void format(CLI::App* sub, const std::vector<std::string>& names);
  void cluster_file(CLI::App* sub);
  void described_model(CLI::App* sub);
  /// --like, the key `like` of `[parallelism]`.
  void like(CLI::App* sub, const std::string& description);
  CLI::Option* model(CLI::App* sub, const std::string& description);
  void precision(CLI::App* sub, const std::string& description);
  void foreign_profile(CLI::App* sub);
  void profile_file(CLI::App* sub, const std::string& description);
  void analytic(CLI::App* sub, const std::string& description);
  void output(CLI::App* sub, const std::string& type);
  void token_count(CLI::App* sub);
  void prices(CLI::App* sub, const std::string& list);
  void failures(CLI::App* sub);
  // job_commands.cpp
  void train();
  void cluster();
  void profile();
  void plan();
  void simulate();
  void export_plan();
  void sweep();
  void report();
  void validate();
  // text_commands.cpp
  void tokenize();
  void generate();
  void sampling(CLI::App* sub);
  void export_model();
  void documents(CLI::App* sub, CLI::Option* tokenizer);
  void samples(CLI::App* sub, CLI::Option* tokenizer);

  Options& options_;
  CLI::App app_;
  std::map<std::string, std::string> details_;
  std::map<std::string, std::vector<CommandExample>> examples_;
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
};

}  // namespace pptrain
