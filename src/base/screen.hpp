#pragma once

#include <cstddef>

namespace pptrain {

/// Where progress is shown.
struct Screen {
  bool terminal = false;  ///< a line can be rewritten
  bool colour = false;    ///< a terminal, and NO_COLOR (no-color.org) is not set
  int columns = 80;
};

/// Standard error, by the environment variables TERM and NO_COLOR; where it is a pipe to mpirun,
/// what that writes to.
Screen standard_error_screen();

/// Columns that text on standard output may take: those that the environment variable COLUMNS says,
/// else those of the terminal that it, or the mpirun that it is a pipe to, writes to, and 80 where
/// there is none; 40 at least, so that tables can be read.
std::size_t screen_columns();

/// Columns that a message on standard error may take before it is broken between words, 40 at
/// least; 0: it is no terminal and COLUMNS says nothing, so that whoever reads it, as a program
/// that searches it, finds each message in one line.
std::size_t message_columns();

}  // namespace pptrain
