#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace pptrain {

enum class Verbosity { quiet, normal, verbose };

/// Sets what reaches standard error. Errors, warnings and notices always do; `quiet` hides the
/// rest.
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

/// Puts `rank N: ` before every line that this process logs, each line of a message of several too;
/// errors of one rank can then be told apart.
void set_log_rank(int rank, int num_ranks);

/// Also writes everything that is printed or logged to this file, whatever the verbosity, from the
/// start of the program on (rank 0 does so in the run directory): lines of `log_debug` too. Where
/// it cannot be written, as on a full disk, one warning says so.
void add_log_file(const std::string& path);

/// Results for people: to standard output, and to the log file. Quiet or not.
void print_result(std::string_view text);

/// What leads to the result, as a plan to a training: the same, but to the log file alone when
/// quiet.
void print_step(std::string_view text);

/// What is only for who asked for more (`verbose`), as times of parts: the same, and to the log
/// file alone for others.
void print_detail(std::string_view text);

namespace detail {
enum class LogLevel { debug, info, notice, warning, error };
void log(LogLevel level, std::string_view text);
}  // namespace detail

/// Logging goes to standard error.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  detail::log(detail::LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  detail::log(detail::LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}
/// What everybody has to see and nobody did wrong, as how a job was ended.
template <class... Args>
void log_notice(fmt::format_string<Args...> format, Args&&... args) {
  detail::log(detail::LogLevel::notice, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  detail::log(detail::LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  detail::log(detail::LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace pptrain
