#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace pptrain {

/// Exit codes of the command line; other people's job scripts read them.
enum class ExitCode : int {
  success = 0,
  other = 1,
  bad_input = 2,
  no_feasible_plan = 3,
  runtime_failure = 4,
  stopped_early = 75,
};

/// The ranks of a job that throw an error: this one alone, as far as it knows, or all of them the
/// same.
enum class ThrownBy { this_rank, all_ranks };

/// A failure with the exit code that the command line returns for it.
///
/// Messages follow one grammar: `where: the problem (the reason); a suggestion`.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, ThrownBy thrown_by = ThrownBy::this_rank)
      : std::runtime_error(message), code_(code), thrown_by_(thrown_by) {}
  /// Exit code that the process returns for this error.
  ExitCode code() const { return code_; }
  /// Whether this rank throws it alone, as far as it knows, or all ranks do.
  ThrownBy thrown_by() const { return thrown_by_; }

 private:
  ExitCode code_;
  ThrownBy thrown_by_;
};

/// The parts of a message to a person. `where` and `suggestion` may be empty.
struct Complaint {
  std::string where = {};       ///< file, line, key or option
  std::string problem = {};     ///< what is wrong
  std::string reason = {};      ///< why that is wrong
  std::string suggestion = {};  ///< what to do about it
};

/// `where: problem (reason); suggestion`, leaving out what is empty.
std::string format_complaint(const Complaint& complaint);

/// Bad input: exit code 2.
[[noreturn]] void throw_bad_input(const Complaint& complaint);
/// Nothing fits: exit code 3.
[[noreturn]] void throw_no_feasible_plan(const Complaint& complaint);
/// A device, MPI or I/O failure at run time: exit code 4.
[[noreturn]] void throw_runtime_failure(const Complaint& complaint);

namespace detail {
[[noreturn]] void broken_invariant(const char* expression, const std::string& values,
                                   std::source_location where = std::source_location::current());
}  // namespace detail

}  // namespace pptrain

/// Aborts with the expression, the place and the given values (a fmt format string and its
/// arguments) when an invariant of the program itself is broken. Always on.
#define PPTRAIN_ASSERT(expression, ...)                                             \
  do {                                                                              \
    if (!(expression)) [[unlikely]] {                                               \
      ::pptrain::detail::broken_invariant(#expression, ::fmt::format(__VA_ARGS__)); \
    }                                                                               \
  } while (false)
