#pragma once

#include <string>

#include "base/mapped_file.hpp"

namespace pptrain {

/// Refuses what is no text, by the mark that it begins with: UTF-16, archives, what is compressed,
/// tables of other programs. Its bytes are no characters. Throws `Error` (exit code 2) with `where`
/// as the place.
void check_text(const MappedFile& file, const std::string& where);

}  // namespace pptrain
