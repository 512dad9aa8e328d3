#include "generating.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <utility>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/open_file.hpp"
#include "comm/alarm.hpp"
#include "comm/fail_together.hpp"
#include "comm/launcher.hpp"
#include "runtime/generate/generate.hpp"
#include "runtime/generate/mpi_text_team.hpp"
#include "runtime/places/waiters.hpp"

namespace pptrain {
namespace {

/// The text of a file without the line feed that editors put behind the last line.
std::string prompt_in(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw_bad_input(
        {path, "this is a directory", "the prompt is a text file", "name the file in it"});
  std::string text = read_text(path, {path, "cannot be read", "", "check the path"});
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

using SayText = std::function<void(std::string_view)>;

GenerateOptions generate_options(const Options& options, std::vector<std::uint32_t> prompt) {
  GenerateOptions result;
  result.prompt = std::move(prompt);
  result.tokens = options.tokens;
  result.sampling = {options.temperature, options.top_k, options.top_p, options.seed};
  result.stop_at_end = !options.ignore_end_of_text;
  if (options.precision == "bf16") result.type = DType::bf16;
  return result;
}

void refuse_plan_alone(const Options& options) {
  if (options.plan.empty()) return;
  throw_bad_input({"--plan", "changes nothing without mpirun", "one process has all of the model",
                   "start it by mpirun -np N, or leave the plan out"});
}

/// Needless options are mistakes of who wants something else.
void check_sampling(const Options& options) {
  if (options.temperature > 0.0 || (options.top_k == 0 && options.top_p == 1.0)) return;
  throw_bad_input(
      {options.top_k > 0 ? "--top-k" : "--top-p", "changes nothing without --temperature",
       "without it the likeliest token is taken", "add --temperature 1, or leave it out"});
}

GenerateResult generate_alone(const TextModel& text, const GenerateOptions& options,
                              const SayText& say) {
  const Kokkos::ScopeGuard kokkos;
  LonelyTeam alone(text.model.num_layers());
  return generate(text, options, alone, say);
}

TextDivision division_of(const std::string& plan, const Model& model, int num_ranks) {
  return plan.empty() ? shared_by_all(model, num_ranks, "pptrain generate")
                      : first_replica_alone(read_plan(plan), model, num_ranks, plan);
}

GenerateResult generate_together(const TextModel& text, const std::string& plan,
                                 const GenerateOptions& options, const SayText& say) {
  const TextDivision division = division_of(plan, text.model, size_of(MPI_COMM_WORLD));
  tell_if_interrupted("while continuing a text");
  Waiter waiter = make_waiter(MPI_COMM_WORLD);
  Alarm alarm(MPI_COMM_WORLD);
  waiter.listen(&alarm);
  MpiTextTeam team(MPI_COMM_WORLD, waiter, division);
  GenerateResult result;
  fail_together(alarm, waiter.timeout_seconds(),
                [&] { result = generate(text, options, team, say); });
  return result;
}

void report(const TextModel& text, const GenerateOptions& options, const GenerateResult& result) {
  // Reading the prompt is no measure of what a token takes.
  const double seconds = std::max(result.seconds - result.prompt_seconds, 1e-9);
  const std::string speed =
      result.tokens > 1
          ? fmt::format(", {:.1f} tokens/s", static_cast<double>(result.tokens - 1) / seconds)
          : "";
  log_info("{}: {} prompt + {} new tokens{}{}", text.description, options.prompt.size(),
           result.tokens, result.ended ? ", ended by the model" : "", speed);
}

}  // namespace

void run_generate(const Options& options) {
  check_sampling(options);
  const bool alone = num_launched_ranks() == 1;
  if (alone) refuse_plan_alone(options);
  const std::string prompt =
      options.prompt_file.empty() ? options.prompt : prompt_in(options.prompt_file);
  const TextModel text = open_text_model(options.input, options.tokenizer);
  const GenerateOptions generation = generate_options(options, prompt_tokens(text, prompt));
  const bool prints = launched_rank().value_or(0) == 0;
  bool begins = true;
  const SayText say = [&](std::string_view piece) {
    if (!prints) return;
    if (std::exchange(begins, false) && verbosity() != Verbosity::quiet) std::cout << prompt;
    std::cout << piece << std::flush;
  };
  const GenerateResult result = alone ? generate_alone(text, generation, say)
                                      : generate_together(text, options.plan, generation, say);
  if (!prints) return;
  std::cout << std::endl;
  if (!std::cout)
    throw_runtime_failure(
        {"standard output", "cannot be written", std::strerror(errno), "free some room"});
  report(text, generation, result);
}

}  // namespace pptrain
