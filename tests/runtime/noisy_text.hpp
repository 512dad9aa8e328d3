#pragma once

#include "base/random.hpp"
#include "config/config.hpp"
#include "runtime/execute/executor.hpp"
#include "small_gpt2.hpp"

namespace pptrain::test {

/// GPT-2 with blocks of 32 elements, which learns quickly.
inline Config small_job(Precision precision, std::int64_t layers = 2) {
  Config config = small_gpt2(32, 8);
  config.model.layers = layers;
  config.training.precision = precision;
  config.optimizer.learning_rate = 3e-3;
  return config;
}

/// A text whose next token is given by the last one or, as often, any: a step has samples of its
/// own.
inline SampleSource noisy_text(const Config& config, std::int64_t step) {
  const std::int64_t length = config.training.sequence_length;
  const std::int64_t vocabulary = config.model.vocabulary_size;
  return [=](std::int64_t sample, const SampleSlot& slot) {
    const CounterRandom random(static_cast<std::uint64_t>(1000 * step + sample), "text");
    auto token = static_cast<std::int64_t>(random.uniform(0) * static_cast<double>(vocabulary));
    for (std::int64_t t = 0; t < length; ++t) {
      if (slot.tokens != nullptr) slot.tokens[t] = static_cast<std::uint32_t>(token);
      const double chance = random.uniform(static_cast<std::uint64_t>(t) + 1);
      token =
          chance < 0.5
              ? (5 * token + 3) % vocabulary
              : static_cast<std::int64_t>((2.0 * chance - 1.0) * static_cast<double>(vocabulary));
      if (slot.targets != nullptr) slot.targets[t] = static_cast<std::int32_t>(token);
    }
  };
}

}  // namespace pptrain::test
