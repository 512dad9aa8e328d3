#pragma once

#include <optional>
#include <string>

namespace pptrain {

/// The file to replace for one that is to be written at `path`: the one at the end of links, or `path` where there is
/// none yet. Nothing where something else has the name, as /dev/null, a pipe or a directory.
std::optional<std::string> replaced_file(const std::string& path);

}  // namespace pptrain
