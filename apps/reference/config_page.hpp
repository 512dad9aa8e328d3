#pragma once

#include <string>

namespace pptrain {

/// The page of CONFIG.toml: a table of keys for each section, with types, limits and defaults as
/// they are read.
std::string config_page();

}  // namespace pptrain
