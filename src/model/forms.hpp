#pragma once

/// Forms of the operators that kernels and descriptions share. CUDA sources include this: C++17.
namespace pptrain {

enum class NormKind { layer, rms };

/// y = (x - mean) / sqrt(variance + epsilon) * gain + offset over the columns of a row, with the biased variance
/// (Ba et al., arXiv:1607.06450). `rms` has mean 0, variance mean(x^2) and no offset (Zhang and Sennrich,
/// arXiv:1910.07467). With `one_plus` the gain is 1 + the parameter, as Gemma has it.
struct NormForm {
  NormKind kind = NormKind::layer;
  float epsilon = 1e-5F;
  bool one_plus = false;
};

/// `gelu_tanh` and `gelu` are Hendrycks and Gimpel's, by tanh and by erf; `silu` is x / (1 + exp(-x)).
enum class Activation { gelu_tanh, gelu, silu, relu };

}  // namespace pptrain
