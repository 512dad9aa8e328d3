#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace pptrain {

/// How the next token is chosen of its logits.
struct SamplingOptions {
  double temperature = 0.0;  ///< that logits are divided by; 0: the likeliest token is taken
  std::int64_t top_k = 0;    ///< as many of the likeliest tokens are left; 0: all
  double top_p = 1.0;  ///< the fewest of the likeliest that have this probability together are left
  std::uint64_t seed = 0;
};

/// A token with the probability that it is drawn with.
struct LikelyToken {
  std::uint32_t token = 0;
  double probability = 0.0;

  bool operator==(const LikelyToken&) const = default;
};

/// The tokens that may be drawn, the likeliest first, of equal ones the smaller first.
/// Probabilities are those at the temperature; top_k cuts first, top_p by the probabilities among
/// those that are left (Holtzman et al., "The curious case of neural text degeneration", 2020), and
/// what is left sums up to 1.
std::vector<LikelyToken> likely_tokens(std::span<const float> logits,
                                       const SamplingOptions& options);

/// Draws tokens with counter-based random numbers: one seed gives one text, whatever machine
/// computes the same logits.
class TokenSampler {
 public:
  explicit TokenSampler(const SamplingOptions& options)
      : options_(options), random_(options.seed, "generate") {}

  /// The token at `place` of its text.
  std::uint32_t draw(std::span<const float> logits, std::size_t place) const;

 private:
  SamplingOptions options_;
  CounterRandom random_;
};

}  // namespace pptrain
