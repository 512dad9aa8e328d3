#pragma once

/// Forms that a network's layers are written down in, and that operators and kernels have. CUDA
/// sources include this: C++17.
namespace pptrain {

/// `layer` is the normalisation of Ba et al. (arXiv:1607.06450), `rms` that of Zhang and Sennrich
/// (arXiv:1910.07467).
enum class NormKind { layer, rms };

/// `gelu_tanh` and `gelu` are Hendrycks and Gimpel's, by tanh and by erf; `silu` is x / (1 +
/// exp(-x)).
enum class Activation { gelu_tanh, gelu, silu, relu };

/// How a feature map gets twice the side. `bicubic` interpolates each channel (Keys, "Cubic
/// convolution interpolation", 1981, with a = -0.75; what lies beyond an edge is the edge's pixel),
/// as torch's `interpolate` does by default. `shuffle` makes of four channels of a pixel four
/// pixels of one channel, row by row (Shi et al., "Real-time single image super-resolution", 2016;
/// torch's `PixelShuffle`).
enum class EnlargeKind { bicubic, shuffle };

/// The largest number under a window, where padding counts for nothing, or the mean, without
/// padding.
enum class PoolKind { max, average };

}  // namespace pptrain
