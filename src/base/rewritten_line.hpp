#pragma once

#include <string_view>

namespace pptrain {

/// Writes a line on standard error in place of the last one that was written so, as of progress on
/// a terminal. What is logged or printed in between (log.hpp) takes its place.
void rewrite_line(std::string_view text);

/// Writes to the log file alone, as what stands on the screen in such a line.
void log_to_file(std::string_view text);

/// Leaves that line, if there is one, as it stands: what comes next begins below it.
void end_rewritten_line();

/// Takes that line, if there is one, away.
void clear_rewritten_line();

/// Whether there is such a line. May be called in a signal handler.
bool rewritten_line_open() noexcept;

}  // namespace pptrain
