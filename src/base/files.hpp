#pragma once

#include <optional>
#include <string>

namespace pptrain {

struct Complaint;

/// The file to replace for one that is to be written at `path`: the one at the end of links, or
/// `path` where there is none yet. Nothing where something else has the name, as /dev/null, a pipe
/// or a directory.
std::optional<std::string> replaced_file(const std::string& path);

/// The file to replace for one that is to be written at `path`: the one at the end of links, or
/// `path` where there is none yet. Throws `Error` (exit code 2) where something else has the name.
std::string file_to_replace(const std::string& path);

/// Says that a file cannot be written, with the words of the system for `error`, an `errno`, where
/// the complaint has no reason. Where the disk is full or fails, or a quota is used up, that is
/// exit code 4; all else (no such folder, no permission) is bad input, exit code 2.
[[noreturn]] void throw_unwritable(Complaint complaint, int error);

}  // namespace pptrain
