#include "base/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace pptrain {
namespace {

struct State {
  std::shared_ptr<spdlog::logger> logger;
  Verbosity verbosity = Verbosity::normal;
  std::string prefix;

  State() {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_pattern("%v");
    logger = std::make_shared<spdlog::logger>("pptrain", sink);
    logger->flush_on(spdlog::level::info);
    logger->set_level(spdlog::level::info);
  }
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

void set_verbosity(Verbosity verbosity) {
  state().verbosity = verbosity;
  const auto level = verbosity == Verbosity::quiet     ? spdlog::level::warn
                     : verbosity == Verbosity::verbose ? spdlog::level::debug
                                                       : spdlog::level::info;
  state().logger->set_level(level);
}

Verbosity verbosity() { return state().verbosity; }

void set_log_rank(int rank, int num_ranks) {
  state().prefix = num_ranks > 1 && rank > 0 ? fmt::format("rank {}: ", rank) : "";
}

void add_log_file(const std::string& path) {
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  sink->set_pattern("%Y-%m-%d %H:%M:%S %l: %v");
  state().logger->sinks().push_back(sink);
}

void detail::log(LogLevel level, std::string_view text) {
  spdlog::logger& logger = *state().logger;
  const std::string& prefix = state().prefix;
  switch (level) {
    case LogLevel::debug: logger.debug("{}{}", prefix, text); break;
    case LogLevel::info: logger.info("{}{}", prefix, text); break;
    case LogLevel::warning: logger.warn("{}pptrain: warning: {}", prefix, text); break;
    case LogLevel::error: logger.error("{}pptrain: error: {}", prefix, text); break;
  }
}

}  // namespace pptrain
