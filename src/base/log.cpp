#include "base/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "base/rewritten_line.hpp"

namespace pptrain {
namespace {

struct State {
  spdlog::logger screen{"pptrain", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::unique_ptr<spdlog::logger> file;
  std::vector<std::string> early;  ///< what comes before there is a file
  Verbosity verbosity = Verbosity::normal;
  std::string prefix;
  bool line_open = false;  ///< a rewritten line stands on the screen

  State() {
    screen.set_pattern("%v");
    screen.flush_on(spdlog::level::info);
    screen.set_level(spdlog::level::info);
  }

  void clear_line() {
    if (std::exchange(line_open, false)) std::fputs("\r\033[K", stderr);
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

}  // namespace

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
  s.file = std::make_unique<spdlog::logger>("file", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
  s.file->set_pattern("%v");
  s.file->flush_on(spdlog::level::info);
  for (const std::string& text : std::exchange(s.early, {})) s.file->info(text);
}

void rewrite_line(std::string_view text) {
  state().clear_line();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  state().line_open = true;
}

void end_rewritten_line() {
  if (std::exchange(state().line_open, false)) std::fputs("\n", stderr);
}

void log_to_file(std::string_view text) { state().keep(std::string(text)); }

void print_result(std::string_view text) {
  state().clear_line();
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  state().keep(std::string(text));
}

void detail::log(LogLevel level, std::string_view text) {
  State& s = state();
  s.clear_line();
  switch (level) {
    case LogLevel::debug: s.screen.debug("{}{}", s.prefix, text); return;
    case LogLevel::info: s.screen.info("{}{}", s.prefix, text); break;
    case LogLevel::warning: s.screen.warn("{}pptrain: warning: {}", s.prefix, text); break;
    case LogLevel::error: s.screen.error("{}pptrain: error: {}", s.prefix, text); break;
  }
  s.keep(std::string(text));
}

}  // namespace pptrain
