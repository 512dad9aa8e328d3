#pragma once

#include <string>

namespace pptrain {

/// The path of a file of the source tree, as "inputs/gpt2.toml". Only one translation unit is
/// compiled with the folder's path, so that a compiler cache serves every clone.
std::string source_file(const std::string& path);

/// The path of a file of tests/data.
std::string test_data(const std::string& path);

}  // namespace pptrain
