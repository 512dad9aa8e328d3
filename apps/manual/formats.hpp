#pragma once

#include <string>

#include "command_tree.hpp"

namespace pptrain {

/// A page of section 1, for man. `date` is YYYY-MM-DD.
std::string man_page(const Manual& manual, const ManualCommand& command, const std::string& date);

/// All commands as one Markdown document.
std::string markdown_reference(const Manual& manual);

/// What a shell loads to complete command lines of pptrain.
std::string bash_completion(const Manual& manual);
std::string zsh_completion(const Manual& manual);
std::string fish_completion(const Manual& manual);

}  // namespace pptrain
