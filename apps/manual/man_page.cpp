#include <fmt/format.h>

#include "base/names.hpp"
#include "formats.hpp"
#include "pptrain_version.hpp"

namespace pptrain {
namespace {

/// Text for roff: backslashes, hyphens that are typed as such, and lines that would begin as
/// requests.
std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped.empty() || (escaped[0] != '.' && escaped[0] != '\'') ? escaped : "\\&" + escaped;
}

/// Text whose paragraphs are parted by empty lines.
std::string paragraphs(const std::string& text) {
  const auto gap = text.find("\n\n");
  if (gap == std::string::npos) return escape(text);
  return escape(text.substr(0, gap)) + "\n.PP\n" + paragraphs(text.substr(gap + 2));
}

std::string bold(const std::string& text) { return "\\fB" + escape(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escape(text) + "\\fR"; }

std::string entry(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + text + "\n";
}

std::string option_tag(const ManualOption& option) {
  if (option.names.empty()) return italic(shown_value(option));
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  return join(names) + (option.value.empty() ? "" : " " + italic(option.value));
}

std::string option_entries(const std::vector<ManualOption>& options) {
  std::string text;
  for (const ManualOption& option : options) {
    text += entry(option_tag(option),
                  escape(option.description) + (option.required ? " (required)" : ""));
  }
  return text;
}

std::string examples_section(const ManualCommand& command) {
  std::string text = ".SH EXAMPLES\n";
  for (const CommandExample& example : command.examples)
    text += entry(bold(example.command), escape(example.purpose));
  return text;
}

std::string exit_section() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& code : exit_code_meanings()) {
    text += entry(bold(std::to_string(code.code)), escape(code.meaning));
  }
  return text;
}

std::string commands_section(const Manual& manual) {
  std::string text = ".SH COMMANDS\n";
  for (const ManualCommand& command : manual.commands)
    text += entry(bold(command.name), escape(command.description));
  return text;
}

std::string environment_section() {
  return ".SH ENVIRONMENT\n" + entry(bold("NO_COLOR"), "no colour in the progress of a job") +
         entry(bold("XDG_CACHE_HOME"), "measured profiles are kept in " + italic("pptrain") +
                                           " below it; " + italic("~/.cache") +
                                           " where it is not set") +
         entry(bold("SLURM_JOB_END_TIME"), "a job ends with a checkpoint before it") +
         entry(bold("OMP_NUM_THREADS"), "1 where ranks share the cores");
}

std::string files_section() {
  return ".SH FILES\nBelow the folder that it is installed to:\n" +
         entry(italic("share/pptrain/inputs"), "jobs, clusters and layer profiles to begin with") +
         entry(italic("share/pptrain/job-scripts"), "scripts for Slurm and for a workstation") +
         entry(italic("share/doc/pptrain/docs"), "the documentation: " + italic("tutorial.md") +
                                                     ", every key of every file in " +
                                                     italic("reference"));
}

std::string see_also(const Manual& manual, const ManualCommand& command) {
  std::vector<std::string> pages;
  if (!command.name.empty()) pages.push_back(bold("pptrain") + "(1)");
  for (const ManualCommand& other : manual.commands) {
    if (other.name != command.name) pages.push_back(bold(other.full_name("-")) + "(1)");
  }
  return ".SH SEE ALSO\n" + join(pages, ",\n") + "\n";
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string man_page(const Manual& manual, const ManualCommand& command, const std::string& date) {
  const std::string name = command.full_name("-");
  std::string page =
      fmt::format(".TH {} 1 {} \"pptrain {}\" \"pptrain\"\n", upper(name), date, PPTRAIN_VERSION);
  page += fmt::format(".SH NAME\n{} \\- {}\n", name, escape(command.description));
  page += ".SH SYNOPSIS\n" + bold(command.full_name(" "));
  page += escape(command.synopsis().substr(command.full_name(" ").size())) + "\n";
  page += ".SH DESCRIPTION\n" + paragraphs(command.details) + "\n";
  if (command.name.empty()) page += commands_section(manual);
  if (!command.arguments.empty()) page += ".SH ARGUMENTS\n" + option_entries(command.arguments);
  page += ".SH OPTIONS\n" + option_entries(command.options) + examples_section(command) +
          exit_section();
  if (command.name.empty()) page += environment_section() + files_section();
  return page + see_also(manual, command);
}

}  // namespace pptrain
