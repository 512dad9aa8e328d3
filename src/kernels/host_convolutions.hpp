#pragma once

#include <memory>

#include "kernels/feature_maps.hpp"

namespace pptrain::kernels {

/// Convolutions by oneDNN's primitives, made once per form and number of samples and kept. Null where oneDNN is
/// missing.
std::unique_ptr<Convolutions> make_onednn_convolutions();

/// Convolutions as matrix products with the pixels under each window side by side: wherever `gemm` is.
std::unique_ptr<Convolutions> make_patch_convolutions();

}  // namespace pptrain::kernels
