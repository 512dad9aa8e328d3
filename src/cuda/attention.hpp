#pragma once

#include <memory>

#include "kernels/attention.hpp"

namespace pptrain {

class CudaDevice;

/// The implementations that a GPU's attention may take.
enum class FusedAttention { cudnn_where_it_can, own };

/// Attention in the device's order, which must outlive it: by cuDNN where that is there and takes
/// the type and shape, elsewhere by kernels of our own. Both keep log_sum as (samples, heads,
/// sequence length).
std::unique_ptr<Attention> make_cuda_attention(
    CudaDevice& device, FusedAttention fused = FusedAttention::cudnn_where_it_can);

}  // namespace pptrain
