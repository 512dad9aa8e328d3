#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "nn/run/continuation.hpp"
#include "runtime/generate/sampler.hpp"
#include "runtime/generate/text_model.hpp"

namespace pptrain {

/// Reads a text and chooses its next tokens, one after another. Where the model has no further
/// place, it reads the second half of what it has places for anew and goes on from there.
class NextTokens {
 public:
  /// `prompt` has a token at least. `model` outlives this; what it has read so far is forgotten.
  NextTokens(Continuation& model, std::vector<std::uint32_t> prompt,
             const SamplingOptions& sampling);

  /// Chooses the next token, which becomes part of the text, and returns it. Collective over the
  /// model's team.
  std::uint32_t next();

 private:
  std::vector<float> read_on();

  Continuation& model_;
  std::vector<std::uint32_t> tokens_;
  TokenSampler sampler_;
};

struct GenerateOptions {
  std::vector<std::uint32_t> prompt;
  std::int64_t tokens = 100;  ///< at most as many are generated
  SamplingOptions sampling = {};
  bool stop_at_end = true;  ///< whether a token that ends a text ends the work
  DType type = DType::f32;  ///< of activations between products
};

struct GenerateResult {
  std::int64_t tokens = 0;
  bool ended = false;           ///< by a token that ends a text
  double prompt_seconds = 0.0;  ///< until the first token was there
  double seconds = 0.0;         ///< of all tokens
};

/// The tokens of a prompt; of an empty one the token with which the model's texts begin. A model
/// without such a token needs a prompt (`Error`, exit code 2).
std::vector<std::uint32_t> prompt_tokens(const TextModel& text, const std::string& prompt);

/// Continues a prompt; `say` gets the text piece by piece, each of whole characters. Collective
/// over the team, all of which hear it.
GenerateResult generate(const TextModel& text, const GenerateOptions& options, TextTeam& team,
                        const std::function<void(std::string_view)>& say);

/// The text of the likeliest `count` tokens behind a prompt.
std::string likeliest_text(Continuation& model, const TokenMeaning& meaning,
                           const std::vector<std::uint32_t>& prompt, std::int64_t count,
                           const std::set<std::uint32_t>& ends);

}  // namespace pptrain
