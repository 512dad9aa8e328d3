#pragma once

#include <string>

#include "base/mapped_file.hpp"

namespace pptrain {

/// Refuses text in UTF-16, by the mark that it begins with: its bytes are no text. Throws `Error` (exit code 2) with
/// `where` as the place.
void check_text(const MappedFile& file, const std::string& where);

}  // namespace pptrain
