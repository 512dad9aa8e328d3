#pragma once

#include <memory>

#include "kernels/feature_maps.hpp"

namespace pptrain::kernels {

/// The type of factors on the host: bf16 where products take it and the processor has matrix units
/// for it. Without them rounding the maps costs more than bf16 gains: a step of ResNet-50 takes 1.2
/// (Zen 5) to 1.4 times as long.
DType host_factors(DType compute);

/// Convolutions by oneDNN's primitives, made once per form and number of samples and kept. Null
/// where oneDNN is missing.
std::unique_ptr<Convolutions> make_onednn_convolutions();

/// Convolutions as matrix products with the pixels under each window side by side: wherever `gemm`
/// is.
std::unique_ptr<Convolutions> make_patch_convolutions();

/// The host's: each by that of the two which is faster for its form.
std::unique_ptr<Convolutions> make_host_convolutions();

}  // namespace pptrain::kernels
