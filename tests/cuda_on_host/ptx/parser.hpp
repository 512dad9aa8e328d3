#pragma once

#include <string>
#include <vector>

#include "kernel.hpp"

namespace cuda_on_host::ptx {

/// The kernels of a PTX file with the name `file`. What is not known of the language ends the
/// program with a message (`fault`): file, line, statement.
std::vector<Kernel> parse(const std::string& text, const std::string& file);

}  // namespace cuda_on_host::ptx
