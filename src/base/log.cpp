#include "base/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/log_once.hpp"
#include "base/names.hpp"
#include "base/rewritten_line.hpp"
#include "base/screen.hpp"

namespace pptrain {
namespace {

std::atomic<bool> line_open = false;  ///< a rewritten line stands on the screen

struct State {
  spdlog::logger screen{"pptrain", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::unique_ptr<spdlog::logger> file;
  std::vector<std::string> early;  ///< what comes before there is a file
  Verbosity verbosity = Verbosity::normal;
  std::string prefix;

  State() {
    screen.set_pattern("%v");
    screen.flush_on(spdlog::level::info);
    screen.set_level(spdlog::level::info);
  }

  void keep(const std::string& text) {
    if (file) {
      file->info(text);
    } else {
      early.push_back(text);
    }
  }
};

State& state() {
  static State instance;
  return instance;
}

/// Writes to standard output where the program says at least as much as `from`, and to the log
/// file.
void print(std::string_view text, Verbosity from) {
  if (state().verbosity >= from) {
    clear_rewritten_line();
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  state().keep(std::string(text));
}

}  // namespace

namespace {

/// Whether the line is said: the first time, and where no rank before this one says it.
bool is_new(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said;
  const std::lock_guard lock(mutex);
  return state().prefix.empty() && said.emplace(text).second;
}

}  // namespace

void log_notice_once(std::string_view text) {
  if (is_new(text)) log_notice("{}", text);
}

void log_warning_once(std::string_view text) {
  if (is_new(text)) log_warning("{}", text);
}

void set_verbosity(Verbosity verbosity) {
  state().verbosity = verbosity;
  state().screen.set_level(verbosity == Verbosity::quiet     ? spdlog::level::warn
                           : verbosity == Verbosity::verbose ? spdlog::level::debug
                                                             : spdlog::level::info);
}

Verbosity verbosity() { return state().verbosity; }

void set_log_rank(int rank, int num_ranks) {
  state().prefix = num_ranks > 1 && rank > 0 ? fmt::format("rank {}: ", rank) : "";
}

void add_log_file(const std::string& path) {
  State& s = state();
  const auto give_up = [](const std::string& reason) {
    if (state().file) state().file->set_level(spdlog::level::off);
    clear_rewritten_line();
    state().screen.warn("pptrain: warning: the log ends here: {}", reason);
  };
  try {
    s.file = std::make_unique<spdlog::logger>(
        "file", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
  } catch (const spdlog::spdlog_ex& error) {
    give_up(error.what());
    return;
  }
  s.file->set_error_handler(give_up);
  s.file->set_pattern("%v");
  s.file->flush_on(spdlog::level::info);
  for (const std::string& text : std::exchange(s.early, {})) s.file->info(text);
}

void rewrite_line(std::string_view text) {
  clear_rewritten_line();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  line_open = true;
}

void end_rewritten_line() {
  if (line_open.exchange(false)) std::fputs("\n", stderr);
}

void clear_rewritten_line() {
  if (line_open.exchange(false)) std::fputs("\r\033[K", stderr);
}

bool rewritten_line_open() noexcept { return line_open; }

void log_to_file(std::string_view text) { state().keep(std::string(text)); }

void print_result(std::string_view text) { print(text, Verbosity::quiet); }
void print_step(std::string_view text) { print(text, Verbosity::normal); }
void print_detail(std::string_view text) { print(text, Verbosity::verbose); }

namespace {

/// A message as the screen has room for it, the rank before each of its lines.
std::string fitted(std::string_view before, std::string_view text) {
  const std::string& prefix = state().prefix;
  std::string lines = fmt::format("{}{}", before, text);
  const std::size_t columns = message_columns();
  if (columns > 0) lines = wrapped(lines, columns - std::min(columns, prefix.size()), "  ");
  std::string all = prefix;
  for (const char c : lines) {
    all += c;
    if (c == '\n') all += prefix;
  }
  return all;
}

void show(spdlog::level::level_enum level, std::string_view before, std::string_view text) {
  if (!state().screen.should_log(level)) return;
  clear_rewritten_line();
  state().screen.log(level, fitted(before, text));
}

}  // namespace

void detail::log(LogLevel level, std::string_view text) {
  switch (level) {
    case LogLevel::debug: show(spdlog::level::debug, "", text); break;
    case LogLevel::info: show(spdlog::level::info, "", text); break;
    case LogLevel::notice: show(spdlog::level::warn, "pptrain: ", text); break;
    case LogLevel::warning: show(spdlog::level::warn, "pptrain: warning: ", text); break;
    case LogLevel::error: show(spdlog::level::err, "pptrain: error: ", text); break;
  }
  state().keep(std::string(text));
}

}  // namespace pptrain
