#include "runtime/generate/generate.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/timing.hpp"

namespace pptrain {
namespace {

/// Rows of keys and values that are needed.
std::size_t places_of(const TextModel& text, std::size_t tokens) {
  return text.longest ? std::min(*text.longest, tokens) : tokens;
}

}  // namespace

/// An empty prompt becomes the token that ended another text, unless the tokenizer puts one of its
/// own in front.
std::vector<std::uint32_t> prompt_tokens(const TextModel& text, const std::string& prompt) {
  std::vector<std::uint32_t> tokens = text.meaning.encode(prompt);
  if (tokens.empty() && !text.ends.empty()) tokens.push_back(*text.ends.begin());
  if (!tokens.empty()) return tokens;
  throw_bad_input({"--prompt", "the prompt is empty",
                   "the model has no token that a text begins with",
                   "give it a character at least"});
}

NextTokens::NextTokens(Continuation& model, std::vector<std::uint32_t> prompt,
                       const SamplingOptions& sampling)
    : model_(model), tokens_(std::move(prompt)), sampler_(sampling) {
  model_.restart();
}

/// Logits behind all tokens.
std::vector<float> NextTokens::read_on() {
  const std::span<const std::uint32_t> all(tokens_);
  if (model_.length() == 0 && all.size() <= model_.places()) return model_.read(all);
  if (model_.length() > 0 && model_.length() < model_.places()) return model_.read(all.last(1));
  model_.restart();
  return model_.read(all.last((model_.places() + 1) / 2));
}

std::uint32_t NextTokens::next() {
  const std::vector<float> logits = read_on();
  const std::uint32_t chosen = logits.empty() ? 0 : sampler_.draw(logits, tokens_.size());
  tokens_.push_back(model_.agree(chosen));
  return tokens_.back();
}

GenerateResult generate(const TextModel& text, const GenerateOptions& options, TextTeam& team,
                        const std::function<void(std::string_view)>& say) {
  const std::size_t places =
      places_of(text, options.prompt.size() + static_cast<std::size_t>(options.tokens));
  Continuation model(text.model, places, options.type, team);
  model.fill(text.parameters);
  GenerateResult result;
  NextTokens tokens(model, options.prompt, options.sampling);
  TokenText words(text.meaning, options.prompt);
  const double start = wall_seconds();
  while (result.tokens < options.tokens && !result.ended) {
    const std::uint32_t token = tokens.next();
    if (result.tokens++ == 0) result.prompt_seconds = wall_seconds() - start;
    result.ended = options.stop_at_end && text.ends.contains(token);
    if (!result.ended) say(words.add(token));
  }
  say(words.finish());
  result.seconds = wall_seconds() - start;
  return result;
}

std::string likeliest_text(Continuation& model, const TokenMeaning& meaning,
                           const std::vector<std::uint32_t>& prompt, std::int64_t count,
                           const std::set<std::uint32_t>& ends) {
  NextTokens tokens(model, prompt, {});
  TokenText words(meaning, prompt);
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t token = tokens.next();
    if (ends.contains(token)) break;
    text += words.add(token);
  }
  return text + words.finish();
}

}  // namespace pptrain
