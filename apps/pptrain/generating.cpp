#include "generating.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/launcher.hpp"
#include "runtime/generate/generate.hpp"

namespace pptrain {
namespace {

/// The text of a file without the line feed that editors put behind the last line.
std::string prompt_in(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw_bad_input({path, "this is a directory", "the prompt is a text file", "name the file in it"});
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_bad_input({path, "cannot be read", std::strerror(errno), "check the path"});
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

GenerateOptions generate_options(const Options& options) {
  GenerateOptions result;
  result.source = options.input;
  result.tokenizer = options.tokenizer;
  result.prompt = options.prompt_file.empty() ? options.prompt : prompt_in(options.prompt_file);
  result.tokens = options.tokens;
  result.sampling = {options.temperature, options.top_k, options.top_p, options.seed};
  result.stop_at_end = !options.ignore_end_of_text;
  return result;
}

void refuse_ranks() {
  const int ranks = num_launched_ranks();
  if (ranks == 1) return;
  throw_bad_input({"pptrain generate", fmt::format("was started on {} ranks", ranks),
                   "it computes on one process, whatever plan the model was trained by", "start it without mpirun"});
}

/// Needless options are mistakes of who wants something else.
void check_sampling(const Options& options) {
  if (options.temperature > 0.0 || (options.top_k == 0 && options.top_p == 1.0)) return;
  throw_bad_input({options.top_k > 0 ? "--top-k" : "--top-p", "changes nothing without --temperature",
                   "without it the likeliest token is taken", "add --temperature 1, or leave it out"});
}

}  // namespace

void run_generate(const Options& options) {
  refuse_ranks();
  check_sampling(options);
  const GenerateOptions generation = generate_options(options);
  const Kokkos::ScopeGuard kokkos;
  bool begins = true;
  const GenerateResult result = generate(generation, [&](std::string_view text) {
    if (std::exchange(begins, false) && verbosity() != Verbosity::quiet) std::cout << generation.prompt;
    std::cout << text << std::flush;
  });
  std::cout << std::endl;
  if (!std::cout)
    throw_runtime_failure({"standard output", "cannot be written", std::strerror(errno), "free some room"});
  // Reading the prompt is no measure of what a token takes.
  const double seconds = std::max(result.seconds - result.prompt_seconds, 1e-9);
  const std::string speed =
      result.tokens > 1 ? fmt::format(", {:.1f} tokens/s", static_cast<double>(result.tokens - 1) / seconds) : "";
  log_info("{}: {} token{} behind {}{}{}", result.description, result.tokens, result.tokens == 1 ? "" : "s",
           result.prompt_tokens, result.ended ? ", ended by the model" : "", speed);
}

}  // namespace pptrain
