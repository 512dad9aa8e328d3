#pragma once

#include <memory>

#include "kernels/experts.hpp"

namespace pptrain {

class CudaDevice;

/// Kernels of experts in the device's order, which must outlive them.
std::unique_ptr<ExpertKernels> make_cuda_experts(CudaDevice& device);

}  // namespace pptrain
