// Writes what describes pptrain's command line, from the command line itself; used while building.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "formats.hpp"

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) throw std::runtime_error(path.string() + " cannot be written");
}

/// Files below `folder` as they are below an installation's share/.
void write_share(const pptrain::Manual& manual, const std::filesystem::path& folder,
                 const std::string& date) {
  const std::filesystem::path pages = folder / "man" / "man1";
  write(pages / "pptrain.1", man_page(manual, manual.program, date));
  for (const pptrain::ManualCommand& command : manual.commands) {
    write(pages / (command.full_name("-") + ".1"), man_page(manual, command, date));
  }
  write(folder / "bash-completion" / "completions" / "pptrain", bash_completion(manual));
  write(folder / "zsh" / "site-functions" / "_pptrain", zsh_completion(manual));
  write(folder / "fish" / "vendor_completions.d" / "pptrain.fish", fish_completion(manual));
}

}  // namespace

int main(int argc, char** argv) {
  pptrain::Options options;
  pptrain::CommandLine line(options, [] { return std::string(); });
  const pptrain::Manual manual = pptrain::read_manual(line);
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    if (what == "share" && argc == 4) {
      write_share(manual, argv[2], argv[3]);
      return 0;
    }
    if (what == "markdown" && argc == 2) {
      std::cout << pptrain::markdown_reference(manual);
      return 0;
    }
  } catch (const std::exception& error) {
    std::cerr << "pptrain_manual: " << error.what() << "\n";
    return 1;
  }
  std::cerr
      << "Usage: pptrain_manual share FOLDER YYYY-MM-DD  man pages and completions of shells\n"
         "       pptrain_manual markdown                 the reference of the command line\n";
  return 2;
}
