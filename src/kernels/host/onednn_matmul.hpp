#pragma once

#include <memory>

#include "kernels/gemm.hpp"

namespace pptrain::kernels {

/// Products by oneDNN's matmul primitives, made once per shape, strides, types and options and
/// kept. oneDNN's products serve bf16 where the processor multiplies it in hardware; f32 runs
/// everywhere. Products without terms or elements are not for them. Null where oneDNN is missing.
std::unique_ptr<Gemm> make_onednn_matmul();

/// Whether oneDNN is there and this processor multiplies bf16 (AVX-512 BF16 or AMX).
bool onednn_has_bf16();
/// Whether it does so in matrix units (AMX).
bool onednn_has_bf16_tiles();

}  // namespace pptrain::kernels
