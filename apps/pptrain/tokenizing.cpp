#include "tokenizing.hpp"

#include <fmt/format.h>

#include <iostream>

#include "base/log.hpp"
#include "base/rewritten_line.hpp"
#include "base/timing.hpp"
#include "base/units.hpp"
#include "io/samples/tokenize_samples.hpp"
#include "runtime/display/progress.hpp"

namespace pptrain {
namespace {

/// Shows on a terminal how far the work is, once it takes longer than a person waits without a
/// word.
class TokenizeDisplay {
 public:
  ~TokenizeDisplay() { clear_rewritten_line(); }

  void show(const TokenizeProgress& progress) {
    if (!screen_.terminal || verbosity() == Verbosity::quiet) return;
    const double now = wall_seconds();
    const double seconds = now - start_;
    if (seconds < silent_seconds || now - shown_ < period_seconds) return;
    shown_ = now;
    const double share =
        static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes);
    rewrite_line(
        progress_line(screen_, share,
                      fmt::format("{} of {}  {} tokens  {} tokens/s  {} left",
                                  format_bytes(static_cast<double>(progress.bytes_done)),
                                  format_bytes(static_cast<double>(progress.bytes)),
                                  format_count(static_cast<double>(progress.num_tokens)),
                                  format_count(static_cast<double>(progress.num_tokens) / seconds),
                                  format_duration(seconds * (1.0 - share) / share))));
  }

 private:
  static constexpr double silent_seconds = 1.0;
  static constexpr double period_seconds = 0.2;

  Screen screen_ = standard_error_screen();
  double start_ = wall_seconds();
  double shown_ = start_;
};

TokenizeOptions tokenize_options(const Options& options) {
  TokenizeOptions tokenize;
  tokenize.texts = options.texts;
  tokenize.output = options.output;
  tokenize.model = options.sentencepiece_model;
  tokenize.train_vocabulary = options.train_vocabulary;
  tokenize.tokenizer = options.tokenizer;
  tokenize.append_end_of_document = options.append_end_of_document;
  tokenize.end_of_document = options.end_of_document;
  tokenize.special_tokens = !options.no_special_tokens;
  tokenize.skip_bad_lines = options.skip_bad_lines;
  tokenize.megatron = options.megatron;
  tokenize.json_key = options.json_key;
  tokenize.sequence_length = options.sequence_length.value_or(0);
  tokenize.source_length = options.source_length.value_or(0);
  tokenize.pair_keys = options.pair_keys;
  tokenize.segment_keys = options.segment_keys;
  tokenize.source_prefix = options.source_prefix;
  tokenize.padding_token = options.padding_token;
  tokenize.num_threads = static_cast<int>(options.threads.value_or(0));
  return tokenize;
}

}  // namespace

void run_tokenize(const Options& options) {
  TokenizeResult result;
  {
    TokenizeDisplay display;
    TokenizeOptions tokenize = tokenize_options(options);
    tokenize.progress = [&](const TokenizeProgress& progress) { display.show(progress); };
    result = options.sequence_length ? tokenize_samples(tokenize) : tokenize_files(tokenize);
  }
  if (const BadLines& bad = result.bad_lines; bad.count > 0)
    log_warning("{} bad line{} left out; the first: {}", bad.count,
                bad.count == 1 ? " is" : "s are", bad.first);
  std::string text = options.output + ": ";
  if (options.sequence_length) {
    text += fmt::format("{} samples of {} tokens", result.num_samples, result.num_tokens);
    if (result.num_cut > 0) text += fmt::format(" ({} texts are cut)", result.num_cut);
  } else if (!options.tokenizer.empty()) {
    text += fmt::format("{} tokens of {} bits in {} document{}", result.num_tokens,
                        8 * result.token_bytes, result.num_documents,
                        result.num_documents == 1 ? "" : "s");
    if (!result.index_path.empty()) text += fmt::format(" (index: {})", result.index_path);
  } else {
    text += fmt::format("{} tokens", result.num_tokens);
    if (!result.tokenizer_path.empty())
      text += fmt::format(" (tokenizer: {})", result.tokenizer_path);
  }
  std::cout << text << fmt::format(", vocabulary_size = {}\n", result.vocabulary_size);
}

}  // namespace pptrain
