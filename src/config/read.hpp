#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace pptrain {

/// Reads a CONFIG.toml.
///
/// `overrides` are `section.key=VALUE` of the command line's `--set`; they count as if written in
/// the file, with "--set section.key" as their place in messages. Relative input paths are made
/// relative to the configuration file's folder where they exist there, else to the working
/// directory. Bad input throws `Error` with exit code 2: file, line, problem, reason, suggestion.
Config read_config(const std::string& path, const std::vector<std::string>& overrides = {});

/// Reads the text of a CONFIG.toml, with `overrides` as for `read_config`. `source` names it in
/// messages, `folder` is where relative paths start. Bad input throws `Error` (exit code 2).
Config parse_config(std::string_view text, const std::string& source, const std::string& folder,
                    const std::vector<std::string>& overrides = {});

/// The keys that somebody may mean who writes `name`, as "optimizer.learning_rate" for "lr": those
/// of that name, the one that does what other tools call so, or those whose name is nearest;
/// nothing where none is near.
std::vector<std::string> settings_called(const std::string& name);

/// The configuration as a CONFIG.toml with every default written out. Reading it gives the same.
std::string write_config(const Config& config);

}  // namespace pptrain
