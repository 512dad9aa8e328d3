#include "runtime/generate/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// How many of the sorted tokens have the probability `top_p` together.
std::size_t nucleus_size(const std::vector<LikelyToken>& tokens, double top_p) {
  double sum = 0.0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    sum += tokens[i].probability;
    if (sum >= top_p) return i + 1;
  }
  return tokens.size();
}

/// Makes exp(logit), kept in `probability`, probabilities.
void normalise(std::vector<LikelyToken>& tokens) {
  double sum = 0.0;
  for (const LikelyToken& each : tokens) sum += each.probability;
  for (LikelyToken& each : tokens) each.probability /= sum;
}

}  // namespace

std::vector<LikelyToken> likely_tokens(std::span<const float> logits,
                                       const SamplingOptions& options) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<LikelyToken> tokens(logits.size());
  for (std::uint32_t i = 0; i < logits.size(); ++i) {
    tokens[i] = {i, std::exp((logits[i] - largest) / options.temperature)};
  }
  const auto size = static_cast<std::int64_t>(tokens.size());
  const std::int64_t left = options.top_k == 0 ? size : std::min(options.top_k, size);
  // Logits decide: unequal ones may have equal probabilities, as where both are 0.
  const auto likelier = [&](const LikelyToken& a, const LikelyToken& b) {
    return logits[a.token] != logits[b.token] ? logits[a.token] > logits[b.token]
                                              : a.token < b.token;
  };
  std::partial_sort(tokens.begin(), tokens.begin() + left, tokens.end(), likelier);
  tokens.resize(static_cast<std::size_t>(left));
  normalise(tokens);
  if (options.top_p < 1.0) {
    tokens.resize(nucleus_size(tokens, options.top_p));
    normalise(tokens);
  }
  return tokens;
}

std::uint32_t TokenSampler::draw(std::span<const float> logits, std::size_t place) const {
  if (std::any_of(logits.begin(), logits.end(),
                  [](float logit) { return !std::isfinite(logit); })) {
    throw_runtime_failure({"", "the model's logits are no numbers",
                           "its weights are not finite, or too large",
                           "take an earlier checkpoint"});
  }
  if (options_.temperature == 0.0) {
    return static_cast<std::uint32_t>(std::max_element(logits.begin(), logits.end()) -
                                      logits.begin());
  }
  const std::vector<LikelyToken> tokens = likely_tokens(logits, options_);
  double rest = random_.uniform(place);
  for (const LikelyToken& each : tokens) {
    if (rest < each.probability) return each.token;
    rest -= each.probability;
  }
  return tokens.back().token;
}

}  // namespace pptrain
