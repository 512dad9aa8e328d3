#pragma once

namespace pptrain {

/// Functions between the two products of a feed-forward part.
enum class Activation {
  gelu_tanh,  ///< u (1 + tanh(sqrt(2/pi) (u + 0.044715 u^3))) / 2: GPT-2's
  gelu,       ///< u (1 + erf(u / sqrt(2))) / 2
  silu,       ///< u / (1 + exp(-u))
  relu
};

}  // namespace pptrain
