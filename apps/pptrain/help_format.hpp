#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace pptrain {

/// How --help shows options: their value, and what they do in lines that fit a terminal of 80
/// columns. CLI11's own format has its checks and types between the two.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

/// The name of what an option takes, "FILE"; "" of a flag.
std::string value_name(const CLI::Option& option);

}  // namespace pptrain
