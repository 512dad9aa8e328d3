#pragma once

#include "config/config.hpp"

namespace pptrain::test {

/// Six blocks of two heads, as wide as a test can do with.
inline Config small_gpt2(std::int64_t hidden_size, std::int64_t global_batch_size) {
  Config config;
  config.model.layers = 6;
  config.model.hidden_size = hidden_size;
  config.model.heads = 2;
  config.model.vocabulary_size = 2 * hidden_size;
  config.training.sequence_length = hidden_size / 2;
  config.training.global_batch_size = global_batch_size;
  config.training.steps = 3;
  config.job.timeout = 600.0;
  return config;
}

}  // namespace pptrain::test
