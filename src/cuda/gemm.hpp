#pragma once

#include <memory>

#include "kernels/gemm.hpp"
#include "kernels/kernels.hpp"

namespace pptrain {

class CudaDevice;

/// How matrix units multiply fp32: with all its bits, or rounded to TF32's 10 bits of fraction,
/// many times as fast.
enum class Fp32Products { exact, tf32 };

/// Products by cuBLASLt in the device's order. The device and its kernels must outlive it.
///
/// Both operands bf16 or both fp16: into f32 or their type, on the matrix units. Any other pair is
/// converted to f32 in memory of its own, and C where it is another type: layers whose products
/// shall be fast give both in the activation type. Bias, GELU, GELU's backward pass and a bias's
/// gradient run in the epilogue where cuBLASLt has an algorithm for the sizes, types and
/// alignments, and as kernels behind the product elsewhere. A bias is rounded to C's type. Sums are
/// never split by atomics, so that equal calls give equal bits.
std::unique_ptr<Gemm> make_cuda_gemm(CudaDevice& device, Kernels& kernels,
                                     Fp32Products fp32 = Fp32Products::exact);

}  // namespace pptrain
