#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"

namespace pptrain {

/// An option or, without names, an argument that is told by its place.
struct ManualOption {
  std::vector<std::string> names;  ///< "-o", "--output"
  std::string value;               ///< "FILE"; "" for a flag
  std::string description;
  std::vector<std::string> choices;  ///< of the value; empty: any
  bool required = false;
  bool repeated = false;
};

/// The program, or one of its subcommands.
struct ManualCommand {
  std::string name;         ///< "plan"; "" for the program
  std::string description;  ///< one line
  std::string details;
  std::vector<ManualOption> arguments;
  std::vector<ManualOption> options;
  std::vector<CommandExample> examples;

  std::string full_name(const std::string& between) const {
    return name.empty() ? "pptrain" : "pptrain" + between + name;
  }
  /// "pptrain plan [OPTION...] [CONFIG.toml]", with required options written out.
  std::string synopsis() const;
};

struct Manual {
  ManualCommand program;
  std::vector<ManualCommand> commands;
};

Manual read_manual(CommandLine& line);

/// "FILE" of an option, or what stands for an argument.
std::string shown_value(const ManualOption& option);

/// What a shell offers for a value that is not chosen from names.
enum class ValueKind { none, folder, file };
ValueKind value_kind(const ManualOption& option);
/// "toml" where a file's name ends in ".toml"; "" where any file may be meant.
std::string file_extension(const ManualOption& option);
/// A word that may stand in place of a file: "latest" of "PATH|latest"; else "".
std::string option_word(const ManualOption& option);

}  // namespace pptrain
